package applied

import (
	"net/http"
	"strings"

	"github.com/emicklei/go-restful/v3"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/apiserver/requestbody"
)

// Endpoint applies configurations to the objects of a kind.
type Endpoint struct {
	storage   rest.Patcher
	scope     *handlers.RequestScope
	admission admission.Interface
	// clusterScoped is false for the objects of a namespace.
	clusterScoped bool
}

// Path returns the path of the route.
func (e *Endpoint) Path() string {
	root, namespace := "/apis/"+e.scope.Resource.GroupVersion().String(), "/namespaces/{namespace}"
	if e.scope.Resource.Group == "" {
		root = "/api/" + e.scope.Resource.Version
	}
	if e.clusterScoped {
		namespace = ""
	}
	return root + namespace + "/" + e.scope.Resource.Resource + "/{name}"
}

// preparedKey is the key of a prepared request in the attributes of a request of go-restful.
const preparedKey = "applied"

// quick returns the function of the route. It counts and measures its requests as the function of the library does.
func (e *Endpoint) quick(library restful.RouteFunction) restful.RouteFunction {
	serve := func(req *restful.Request, res *restful.Response) {
		if r, ok := req.Attribute(preparedKey).(*request); ok {
			r.serve(res.ResponseWriter)
		}
	}
	of := e.scope.Resource
	measured := metrics.InstrumentRouteFunc(http.MethodPatch, of.Group, of.Version, of.Resource, "", "resource", metrics.APIServerComponent, false, "", serve)
	return func(req *restful.Request, res *restful.Response) {
		r, ok := e.prepare(req.Request)
		if !ok {
			library(req, res)
			return
		}
		req.SetAttribute(preparedKey, r)
		measured(req, res)
	}
}

// prepare reads a request. It returns false if the request is not regular. The library can read the request again then.
func (e *Endpoint) prepare(req *http.Request) (*request, bool) {
	mediaType, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	if mediaType != string(types.ApplyYAMLPatchType) {
		return nil, false
	}
	r := &request{Endpoint: e, http: req}
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(req.URL.Query(), e.scope.MetaGroupVersion, &r.options); err != nil {
		return nil, false
	}
	if len(validation.ValidatePatchOptions(&r.options, types.ApplyYAMLPatchType)) > 0 {
		return nil, false
	}
	r.options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PatchOptions"))
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
	var ok bool
	r.configuration, ok = Decode(r.body)
	return r, ok
}
