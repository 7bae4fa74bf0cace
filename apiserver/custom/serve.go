package custom

import (
	"context"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/apiserver/requestbody"
	"holdfast.dev/holdfast/apiserver/subresource"
)

// patchTypes are the patch types for custom resources. A strategic merge patch needs a
// Go type and is not among them.
var patchTypes = []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType)}

// serve answers a request. The caller has opened the version.
func (v *version) serve(w http.ResponseWriter, req *http.Request, info *genericapirequest.RequestInfo) {
	for _, text := range v.warnings {
		warning.AddWarning(req.Context(), "", text)
	}
	var handler http.HandlerFunc
	switch {
	case info.Subresource == "" && info.Verb == "create" && info.Name != "":
		// A create request with an object name in its path is not supported. The client was
		// authorized for that name, but the object would get the name in the body.
	case info.Subresource == "":
		var read *handlers.RequestScope
		read, req = v.readScope(w, req, info.Verb)
		handler = v.resourceHandler(info.Verb, read)
	case info.Subresource == "status" && v.status != nil:
		handler = v.subresourceHandler(info.Verb, v.status, v.scopes.status)
	case info.Subresource == "scale" && v.scale != nil:
		handler = v.subresourceHandler(info.Verb, v.scale, v.scopes.scale)
	default:
		v.refuse(apierrors.NewNotFound(v.resource.groupResource(), info.Name), w, req)
		return
	}
	if handler == nil {
		v.refuse(apierrors.NewMethodNotSupported(v.resource.groupResource(), info.Verb), w, req)
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
	if info.Verb == "patch" && info.Subresource != "scale" && isApply(req) {
		applied, err := v.pruneApplied(req)
		if err == nil {
			handler, err = v.applyHandler(info.Subresource, applied)
		}
		if err != nil {
			v.refuse(err, w, req)
			return
		}
	}
	if info.Verb == "watch" {
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()
		defer context.AfterFunc(v.resource.watches, cancel)()
		req = req.WithContext(ctx)
	}
	metrics.InstrumentHandlerFunc(strings.ToUpper(info.Verb), info.APIGroup, info.APIVersion, info.Resource, info.Subresource,
		metrics.CleanScope(info), metrics.APIServerComponent, v.spec.Deprecated, "", handler)(w, req)
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

// wantsMetadataList reports whether a request accepts only a list of metadata. The handlers
// take a custom resource for a list, because its Go type has the methods of lists, and fail
// with an internal error.
func (v *version) wantsMetadataList(req *http.Request) bool {
	if !strings.Contains(req.Header.Get("Accept"), "PartialObjectMetadataList") {
		return false
	}
	accepted, _, err := negotiation.NegotiateOutputMediaType(req, v.scopes.main.Serializer, v.scopes.main)
	return err == nil && accepted.Convert != nil && accepted.Convert.Kind == "PartialObjectMetadataList"
}

// mediaTypes returns the media types in which clients may send objects.
func (v *version) mediaTypes() []string {
	var supported []string
	for _, info := range v.scopes.main.StandardSerializers {
		supported = append(supported, info.MediaType)
	}
	return supported
}

func (v *version) refuse(err error, w http.ResponseWriter, req *http.Request) {
	responsewriters.ErrorNegotiated(err, v.resource.server.codecs, v.groupVersion(), w, req)
}

// resourceHandler creates a handler for one request. A handler must not be used twice,
// because each call wraps the admission chain of the handler once more.
func (v *version) resourceHandler(verb string, read *handlers.RequestScope) http.HandlerFunc {
	scope, config := v.scopes.main, v.resource.server.config
	admit := objectAdmission{version: v, delegate: config.Admission}
	switch verb {
	case "get":
		return handlers.GetResource(v.store, read)
	case "list":
		return handlers.ListResource(v.store, v.store, read, false, config.MinWatch)
	case "watch":
		return handlers.ListResource(v.store, v.store, read, true, config.MinWatch)
	case "create":
		return v.createHandler()
	case "update", "patch":
		return v.updateHandler(verb, v.store, scope)
	case "delete":
		return handlers.DeleteResource(v.store, true, scope, admit)
	case "deletecollection":
		return handlers.DeleteCollection(v.store, true, scope, admit)
	}
	return nil
}

func (v *version) subresourceHandler(verb string, storage rest.Patcher, scope *handlers.RequestScope) http.HandlerFunc {
	if verb == "get" {
		return handlers.GetResource(storage, scope)
	}
	if status, ok := storage.(*subresource.Status); ok {
		return v.updateHandler(verb, status, scope)
	}
	return libraryHandler(verb, storage, scope, objectAdmission{version: v, delegate: v.resource.server.config.Admission})
}
