package custom

import (
	"context"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/rest"
)

// createHandler returns the handler of one request to create an object.
func (v *version) createHandler() http.HandlerFunc {
	admit := objectAdmission{version: v, delegate: v.resource.server.config.Admission}
	return func(w http.ResponseWriter, req *http.Request) {
		c := &valueCreate{version: v, manager: managerOf(req)}
		scope := *v.scopes.main
		scope.Serializer = recordingSerializer{scope.Serializer, c.receive}
		scope.Creater = c
		handlers.CreateResource(creatingStorage{v.store, c}, &scope, createAdmission{admit, c})(w, req)
	}
}

// managerOf returns the field manager of a request to create an object. It returns "" if the library would change the name.
func managerOf(req *http.Request) string {
	name := req.URL.Query().Get("fieldManager")
	if name == "" {
		name, _, _ = strings.Cut(req.UserAgent(), "/")
	}
	if !isPlainManager(name) {
		return ""
	}
	return name
}

// valueCreate is a request to create an object. The handler of the library calls in this order: the decoder, New, its own
// field manager, mutating admission, and the storage. If createdFields can do the work of the field manager, New makes the library skip
// it, and valueCreate shows the managed fields to mutating admission and to the storage. In between, the library would decode
// them to check them, so valueCreate keeps them.
type valueCreate struct {
	version *version
	// manager is the name of the manager, "" if the library must record it.
	manager string
	// received is the object of the request.
	received *object
	// fields is the set of fields of the manager, nil if the library records it.
	fields map[string]any
	// kept are the managed fields between mutating admission and the storage, nil if admission removed them.
	kept any
}

// receive records the object of the request. A client that sends managed fields sets them. An object of another kind has none
// before it is refused.
func (c *valueCreate) receive(obj *object) {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	if _, sent := metadata["managedFields"]; metadata != nil && !sent && obj.GroupVersionKind() == c.version.groupVersionKind() {
		c.received = obj
	}
}

// New implements runtime.ObjectCreater. The field manager of the library compares the new object with the result. If the
// result has a UID and no managers, the library takes the request for an update of an object without tracked managers, and
// records nothing.
func (c *valueCreate) New(gvk runtimeKind) (runtime.Object, error) {
	empty := newObject(gvk)
	if c.manager == "" || c.received == nil {
		return empty, nil
	}
	if fields, ok := c.version.createdFields(c.received); ok {
		c.fields = fields
		empty.SetUID("untracked")
	}
	return empty, nil
}

// entry returns the managed fields of the manager.
func (c *valueCreate) entry() map[string]any {
	return map[string]any{
		"manager": c.manager, "operation": "Update", "apiVersion": c.version.groupVersion().String(),
		"time": time.Now().UTC().Format(time.RFC3339), "fieldsType": "FieldsV1", "fieldsV1": c.fields,
	}
}

// createAdmission shows the managed fields to mutating admission.
type createAdmission struct {
	objectAdmission
	create *valueCreate
}

// Admit implements admission.MutationInterface.
func (a createAdmission) Admit(ctx context.Context, attributes admission.Attributes, interfaces admission.ObjectInterfaces) error {
	obj, ok := attributes.GetObject().(*object)
	if !ok || a.create.fields == nil {
		return a.objectAdmission.Admit(ctx, attributes, interfaces)
	}
	before := []any{a.create.entry()}
	setManagers(obj, before)
	if err := a.objectAdmission.Admit(ctx, attributes, interfaces); err != nil {
		return err
	}
	keepValidManagers(ctx, obj, before)
	if metadata, ok := obj.Object["metadata"].(map[string]any); ok {
		a.create.kept = metadata["managedFields"]
		delete(metadata, "managedFields")
	}
	return nil
}

func setManagers(obj *object, entries any) {
	if metadata, ok := obj.Object["metadata"].(map[string]any); ok {
		metadata["managedFields"] = entries
	}
}

// creatingStorage gives the managed fields back to the object that it stores.
type creatingStorage struct {
	rest.Creater
	create *valueCreate
}

// Create implements rest.Creater. The handler calls it a second time, without managed fields, if the object is too large.
func (s creatingStorage) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	if created, ok := obj.(*object); ok && s.create.kept != nil {
		setManagers(created, s.create.kept)
		s.create.kept = nil
	}
	return s.Creater.Create(ctx, obj, validate, options)
}
