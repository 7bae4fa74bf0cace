package console

import (
	"encoding/json"
	"mime"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/apiserver/capture"
	"holdfast.dev/holdfast/internal/apiserver/custom"
	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/apiserver/policies"
	"holdfast.dev/holdfast/internal/native/judgement"
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
}

// Reports answers requests for reports. The zero value has no sources and must be started.
type Reports struct{ sources Sources }

// Start sets the sources, before the server serves.
func (r *Reports) Start(sources Sources) {
	if sources.Ownership == nil {
		// The owners of fields are in the objects. Only the commands are not known.
		sources.Ownership = fieldownership.New(judgement.Warn, nil)
	}
	r.sources = sources
}

// Wrap returns a handler that answers a GET of an object with MediaType, and passes on the rest.
// The requests are authenticated and authorized.
func (r *Reports) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := request.RequestInfoFrom(req.Context())
		if !ok || !info.IsResourceRequest || info.Verb != "get" || info.Subresource != "" ||
			req.Method != http.MethodGet || !wantsReport(req) {
			next.ServeHTTP(w, req)
			return
		}
		setSecurityHeaders(w.Header(), reportPolicy)
		w.Header().Set("Cache-Control", "no-store")
		read := capture.Get(next, req, "application/json")
		if read.Code != http.StatusOK {
			read.Replay(w)
			return
		}
		of := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
		report, err := r.sources.report(req.Context(), of, read.Body)
		var data []byte
		if err == nil {
			data, err = json.Marshal(report)
		}
		if err != nil {
			http.Error(w, "report: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		// An error means that the client has disconnected.
		_, _ = w.Write(data)
	})
}

// wantsReport reports whether a request asks for MediaType and for nothing else.
func wantsReport(req *http.Request) bool {
	name, parameters, err := mime.ParseMediaType(req.Header.Get("Accept"))
	return err == nil && name == "application/json" &&
		parameters["as"] == "Report" && parameters["g"] == "console.holdfast.dev" && parameters["v"] == "v1"
}
