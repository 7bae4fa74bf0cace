package console

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/apiserver/capture"
	"holdfast.dev/holdfast/internal/apiserver/custom"
	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/apiserver/policies"
	"holdfast.dev/holdfast/internal/apiserver/refused"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/protection"
)

// MediaType is the media type of a report about an object: its locked fields, owners and drift. It
// has the form of Kubernetes' transformations of objects. A server without --console answers 406.
const MediaType = "application/json;as=Report;g=console.holdfast.dev;v=v1"

// reportPolicy is the Content-Security-Policy of a report, which is no page.
const reportPolicy = "default-src 'none'; frame-ancestors 'none'"

// Sources has what the server knows about objects.
type Sources struct {
	// Scheme has the Go types of the built-in kinds.
	Scheme *runtime.Scheme
	// Ownership knows the fields of built-in kinds and the commands that wrote them. It is nil if
	// the server does not check the ownership of fields.
	Ownership *fieldownership.Checker
	Custom    *custom.Server
	// Policies are the ImmutabilityPolicies, nil if the server enforces none.
	Policies *policies.Rules
	// Rights decide whether the user of a request can break a rule.
	Rights authorizer.UnconditionalAuthorizer
	// Packages is nil if the server runs no operator packages.
	Packages *Packages
	Versions Versions
}

// Reports answers requests for reports. The zero value has no sources and must be started.
type Reports struct {
	sources Sources
	refused *refused.Record
}

// NewReports returns reports with a record of refused writes. They must be started.
func NewReports(record *refused.Record) *Reports { return &Reports{refused: record} }

// Refusals returns the function that is told of refused writes, nil if nothing is recorded.
func (r *Reports) Refusals() func(context.Context, []protection.Refusal) {
	if r.refused == nil {
		return nil
	}
	return r.refused.Add
}

// Start sets the sources, before the server serves.
func (r *Reports) Start(sources Sources) {
	if sources.Ownership == nil {
		// The owners of fields are in the objects. Only the commands are not known.
		sources.Ownership = fieldownership.New(judgement.Warn, nil)
	}
	r.sources = sources
}

// Wrap returns a handler that answers a GET of an object with MediaType, and a list with SeriesType, OverviewType or ObjectsType, and passes
// on the rest. The requests are authenticated and authorized.
func (r *Reports) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := request.RequestInfoFrom(req.Context())
		var answer func(http.Handler, http.ResponseWriter, *http.Request)
		switch {
		case !ok || !info.IsResourceRequest:
		case info.Verb == "get" && info.Subresource == "" && req.Method == http.MethodGet && wants(req, "Report"):
			answer = r.answerObject
		case wantsSeries(req, info):
			answer = r.answerSeries
		case wantsList(req, info, "Overview"):
			answer = r.answerOverview
		case wantsList(req, info, "Objects"):
			answer = r.answerObjects
		}
		if answer == nil {
			next.ServeHTTP(w, req)
			return
		}
		setSecurityHeaders(w.Header(), reportPolicy)
		w.Header().Set("Cache-Control", "no-store")
		answer(next, w, req)
	})
}

// answerObject answers with the report about an object.
func (r *Reports) answerObject(next http.Handler, w http.ResponseWriter, req *http.Request) {
	info, _ := request.RequestInfoFrom(req.Context())
	read := capture.Get(next, req, "application/json")
	if read.Code != http.StatusOK {
		read.Replay(w)
		return
	}
	of := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	report, err := r.sources.report(req.Context(), of, read.Body)
	if err != nil {
		http.Error(w, "report: "+err.Error(), http.StatusInternalServerError)
		return
	}
	report.Refused = r.refused.About(of.GroupResource(), info.Namespace, info.Name)
	writeJSON(w, http.StatusOK, report)
}

func writeJSON(w http.ResponseWriter, code int, answer any) {
	data, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, "report: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// An error means that the client has disconnected.
	_, _ = w.Write(data)
}

// writeStatus answers with an error as the API does.
func writeStatus(w http.ResponseWriter, err apierrors.APIStatus) {
	status := err.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	writeJSON(w, int(status.Code), status)
}

// wants reports whether a request asks for an answer of the console with a name, and for nothing else.
func wants(req *http.Request, as string) bool {
	name, parameters, err := mime.ParseMediaType(req.Header.Get("Accept"))
	return err == nil && name == "application/json" &&
		parameters["as"] == as && parameters["g"] == "console.holdfast.dev" && parameters["v"] == "v1"
}
