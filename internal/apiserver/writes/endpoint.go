package writes

import (
	"net/http"
	"strings"
	"time"

	"github.com/emicklei/go-restful/v3"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/apiserver/managers"
	"holdfast.dev/holdfast/internal/apiserver/requestbody"
)

// Endpoint writes the objects of a kind, or a subresource of them.
type Endpoint struct {
	storage   rest.Patcher
	scope     *handlers.RequestScope
	admission admission.Interface
	managers  *managers.Recorder
	// json decodes strictly.
	json runtime.Codec
	// clusterScoped is false for the objects of a namespace.
	clusterScoped bool
}

// Path returns the path of the route.
func (e *Endpoint) Path() string {
	root, namespace, part := "/apis/"+e.scope.Resource.GroupVersion().String(), "/namespaces/{namespace}", ""
	if e.scope.Resource.Group == "" {
		root = "/api/" + e.scope.Resource.Version
	}
	if e.clusterScoped {
		namespace = ""
	}
	if e.scope.Subresource != "" {
		part = "/" + e.scope.Subresource
	}
	return root + namespace + "/" + e.scope.Resource.Resource + "/{name}" + part
}

// quick returns the function of the route of a method. It counts and measures its requests as the function of the library does.
func (e *Endpoint) quick(method string, library restful.RouteFunction) restful.RouteFunction {
	of := e.scope.Resource
	return func(req *restful.Request, res *restful.Response) {
		began, ok := genericapirequest.ReceivedTimestampFrom(req.Request.Context())
		if !ok {
			began = time.Now()
		}
		r, ok := e.prepare(req.Request)
		answer := &metrics.ResponseWriterDelegator{ResponseWriter: res.ResponseWriter}
		if !ok || !r.serve(responsewriter.WrapForHTTP1Or2(answer)) {
			library(req, res)
			return
		}
		metrics.MonitorRequest(req.Request, method, of.Group, of.Version, of.Resource, e.scope.Subresource, "resource",
			metrics.APIServerComponent, false, "", answer.Status(), answer.ContentLength(), time.Since(began))
	}
}

// prepare reads a request. It returns false if the request is not regular. The library can read the request again then.
func (e *Endpoint) prepare(req *http.Request) (*request, bool) {
	r := &request{Endpoint: e, http: req}
	decode := r.decoder()
	if decode == nil || !r.prepareOptions() {
		return nil, false
	}
	accepted, _, err := negotiation.NegotiateOutputMediaType(req, e.scope.Serializer, e.scope)
	if err != nil || accepted.Convert != nil {
		return nil, false
	}
	if r.namespace, r.name, err = e.scope.Namer.Name(req); err != nil {
		return nil, false
	}
	if r.body, err = requestbody.Peek(req, e.scope.MaxRequestBodyBytes); err != nil {
		return nil, false
	}
	return r, decode()
}

// decoder returns the function that decodes the body of a request, nil for a patch of a type that the library serves. The function returns false if the body is
// not regular.
func (r *request) decoder() func() bool {
	if r.http.Method == http.MethodPut {
		return r.prepareUpdate
	}
	switch patchType(r.http) {
	case types.ApplyYAMLPatchType:
		return r.prepareApply
	case types.StrategicMergePatchType:
		return func() bool { return r.preparePatch(r.patchStrategic) }
	case types.MergePatchType:
		return func() bool { return r.preparePatch(r.patchMerge) }
	}
	return nil
}

// patchType returns the media type of a patch as the library reads it, which distinguishes upper and lower case.
func patchType(req *http.Request) types.PatchType {
	mediaType, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	return types.PatchType(mediaType)
}

// prepareOptions reads the options of a request. It returns false if they are wrong.
func (r *request) prepareOptions() bool {
	decoder, query := metainternalversionscheme.ParameterCodec, r.http.URL.Query()
	var wrong field.ErrorList
	var err error
	if r.http.Method == http.MethodPut {
		var options metav1.UpdateOptions
		err = decoder.DecodeParameters(query, r.scope.MetaGroupVersion, &options)
		wrong = validation.ValidateUpdateOptions(&options)
		r.options = metav1.PatchOptions{DryRun: options.DryRun, FieldManager: options.FieldManager, FieldValidation: options.FieldValidation}
	} else {
		err = decoder.DecodeParameters(query, r.scope.MetaGroupVersion, &r.options)
		wrong = validation.ValidatePatchOptions(&r.options, patchType(r.http))
	}
	r.manager = managers.NameOf(r.options.FieldManager, r.http.UserAgent())
	return err == nil && len(wrong) == 0
}
