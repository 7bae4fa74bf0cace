package served

import (
	"context"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/internal/apiserver/custom/write"
	"holdfast.dev/holdfast/internal/apiserver/requestbody"
)

// Serve answers a request. The caller has opened the version.
func (v *Version) Serve(w http.ResponseWriter, req *http.Request, info *genericapirequest.RequestInfo) {
	for _, text := range v.warnings {
		warning.AddWarning(req.Context(), "", text)
	}
	var handler http.HandlerFunc
	switch {
	case info.Subresource == "":
		read := v.scopes.main
		if info.Verb == "get" || info.Verb == "list" || info.Verb == "watch" {
			read, req = v.scopes.reads.For(w, req, info.Verb)
		}
		handler = v.objectHandler(info.Verb, read)
	case info.Subresource == "status" && v.status != nil:
		handler = v.statusHandler(info.Verb)
	case info.Subresource == "scale" && v.scale != nil:
		handler = v.scaleHandler(info.Verb)
	default:
		v.refuse(apierrors.NewNotFound(v.resource.GroupResource(), info.Name), w, req)
		return
	}
	if handler == nil {
		v.refuse(apierrors.NewMethodNotSupported(v.resource.GroupResource(), info.Verb), w, req)
		return
	}
	if (info.Verb == "create" || info.Verb == "update") && info.Subresource != "scale" && isProtobuf(req) {
		v.refuse(negotiation.NewUnsupportedMediaTypeError(v.mediaTypes()), w, req)
		return
	}
	if isOneObject(info.Verb) && v.wantsMetadataList(req) {
		v.refuse(negotiation.NewNotAcceptableError(v.mediaTypes()), w, req)
		return
	}
	if info.Verb == "watch" {
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()
		defer context.AfterFunc(v.resource.watches, cancel)()
		req = req.WithContext(ctx)
	}
	metrics.InstrumentHandlerFunc(strings.ToUpper(info.Verb), info.APIGroup, info.APIVersion, info.Resource, info.Subresource,
		metrics.CleanScope(info), metrics.APIServerComponent, v.Spec.Deprecated, "", handler)(w, req)
}

// isProtobuf reports whether the body of a request is protobuf. The server can send tables
// and metadata of custom resources as protobuf, but it cannot decode custom resources from it.
func isProtobuf(req *http.Request) bool {
	return requestbody.MediaType(req) == runtime.ContentTypeProtobuf
}

// isOneObject reports whether the answer to a verb is one object, and not a list.
func isOneObject(verb string) bool {
	switch verb {
	case "list", "watch", "deletecollection":
		return false
	}
	return true
}

// wantsMetadataList reports whether negotiation chooses a list of metadata for the answer. The handlers
// take a custom resource for a list, because its Go type has the methods of lists, and fail
// with an internal error.
func (v *Version) wantsMetadataList(req *http.Request) bool {
	if !strings.Contains(req.Header.Get("Accept"), "PartialObjectMetadataList") {
		return false
	}
	accepted, _, err := negotiation.NegotiateOutputMediaType(req, v.scopes.main.Serializer, v.scopes.main)
	return err == nil && accepted.Convert != nil && accepted.Convert.Kind == "PartialObjectMetadataList"
}

// mediaTypes returns the media types of custom resources, in requests and answers.
func (v *Version) mediaTypes() []string {
	var supported []string
	for _, info := range v.scopes.main.StandardSerializers {
		supported = append(supported, info.MediaType)
	}
	return supported
}

func (v *Version) refuse(err error, w http.ResponseWriter, req *http.Request) {
	responsewriters.ErrorNegotiated(err, v.config.Codecs, v.GroupVersion(), w, req)
}

// objectHandler returns the handler of a request for objects, nil for an unknown verb. A handler of the library must not be used twice,
// because each call of the handler wraps the admission chain once more.
func (v *Version) objectHandler(verb string, read *handlers.RequestScope) http.HandlerFunc {
	scope, config := v.scopes.main, v.config
	switch verb {
	case "get":
		return handlers.GetResource(v.store, read)
	case "list":
		return handlers.ListResource(v.store, v.store, read, false, config.MinWatch)
	case "watch":
		return handlers.ListResource(v.store, v.store, read, true, config.MinWatch)
	case "create", "update", "patch":
		return writeHandler(v.writers.objects, verb)
	case "delete":
		return handlers.DeleteResource(currentDelete{v.store, v}, true, scope, write.NewAdmission(config.Admission))
	case "deletecollection":
		return handlers.DeleteCollection(currentDelete{v.store, v}, true, scope, write.NewAdmission(config.Admission))
	}
	return nil
}

// statusHandler is objectHandler for the subresource status.
func (v *Version) statusHandler(verb string) http.HandlerFunc {
	switch verb {
	case "get":
		return handlers.GetResource(v.status, v.scopes.status)
	case "update", "patch":
		return writeHandler(v.writers.status, verb)
	}
	return nil
}

func writeHandler(endpoint *write.Endpoint, verb string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) { endpoint.Serve(w, req, verb) }
}

// scaleHandler is objectHandler for the subresource scale.
func (v *Version) scaleHandler(verb string) http.HandlerFunc {
	admit := write.NewAdmission(v.config.Admission)
	switch verb {
	case "get":
		return handlers.GetResource(v.scale, v.scopes.scale)
	case "update":
		return handlers.UpdateResource(currentScale{v.scale, v}, v.writers.scale, admit)
	case "patch":
		return handlers.PatchResource(currentScale{v.scale, v}, v.writers.scale, admit, write.PatchTypes)
	}
	return nil
}
