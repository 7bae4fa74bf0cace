package custom

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/apiserver/requestbody"
)

// statusOrObjects is the storage of objects or of their status.
type statusOrObjects interface {
	rest.Patcher
	rest.ResetFieldsStrategy
}

// updateHandler returns the handler of one update or patch of objects or their status, nil for another verb. With several versions,
// the field manager may convert the objects to another version, and needs the whole objects.
func (v *version) updateHandler(verb string, storage statusOrObjects, base *handlers.RequestScope) http.HandlerFunc {
	admit := objectAdmission{version: v, delegate: v.resource.server.config.Admission}
	if handler := libraryHandler(verb, storage, base, admit); handler == nil || len(v.resource.versions) > 1 {
		return handler
	}
	return func(w http.ResponseWriter, req *http.Request) {
		parts := &differingTypes{updateTypes: updateTypes{v.resource.merger.types, v.resource}}
		scope, err := merger{parts}.scope(*base, storage.GetResetFields())
		if err != nil {
			v.refuse(err, w, req)
			return
		}
		values := &valueUpdate{valueWrite: valueWrite{version: v, scope: scope, admit: admit}, userAgent: req.UserAgent()}
		switch {
		case verb == "update":
			scope.Serializer = recordingSerializer{scope.Serializer, func(obj *object) { values.received = obj }}
		case isMergePatch(req):
			values.patch = &recordedBody{ReadCloser: req.Body}
			req = req.WithContext(req.Context())
			req.Body = values.patch
		}
		wrap := func(info rest.UpdatedObjectInfo, options *metav1.UpdateOptions) rest.UpdatedObjectInfo {
			return values.wrap(differingObjectInfo{info, parts}, options)
		}
		libraryHandler(verb, wrappedStorage{storage, wrap}, scope, admit)(w, req)
	}
}

func isMergePatch(req *http.Request) bool {
	return types.PatchType(requestbody.MediaType(req)) == types.MergePatchType
}

// libraryHandler returns the handler of the library for an update or a patch, nil for another verb.
func libraryHandler(verb string, storage rest.Patcher, scope *handlers.RequestScope, admit objectAdmission) http.HandlerFunc {
	switch verb {
	case "update":
		return handlers.UpdateResource(storage, scope, admit)
	case "patch":
		return handlers.PatchResource(storage, scope, admit, patchTypes)
	}
	return nil
}
