package write

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/finisher"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/component-base/tracing"

	"holdfast.dev/holdfast/internal/apiserver/custom/fields"
	"holdfast.dev/holdfast/internal/apiserver/custom/mergepatch"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

const (
	// timeout bounds a write. It is that of Kubernetes.
	timeout = 34 * time.Second
	// slow is the duration from which the log has the steps of a write.
	slow = 500 * time.Millisecond
)

// Endpoint writes the objects of a version, or their status.
type Endpoint struct {
	Judge
	// Storage stores the objects or their status. Creater is nil for the status.
	Storage rest.Patcher
	Creater rest.Creater
	Scope   *handlers.RequestScope
	Format  text.Format
	Fields  fields.Recorder
	Patches mergepatch.Patcher
	// Admission is the chain of admission plugins, see NewAdmission.
	Admission admission.Interface
	// IsTerminating reports that the definition is being deleted. The server then creates no objects.
	IsTerminating func() bool
	Definition    Definition
	// Anew answers a request by the definition that has replaced the one of this endpoint.
	Anew http.HandlerFunc
}

// Serve answers a write. The verb is create, update or patch.
func (e *Endpoint) Serve(w http.ResponseWriter, req *http.Request, verb string) {
	ctx, span := tracing.Start(req.Context(), verb, attribute.String("url", req.URL.Path), attribute.String("user-agent", req.UserAgent()))
	defer span.End(slow)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	r := &request{Endpoint: e, http: req.WithContext(ctx), verb: verb}
	result, err := r.write(ctx)
	if errors.Is(err, errReplaced) {
		if e.judgeAnew(w, req, r.body) {
			return
		}
		err = unstable(e.Scope.Resource.GroupResource())
	}
	if err == nil {
		span.AddEvent("stored")
		err = r.answer(ctx, w, result)
	}
	if err != nil {
		responsewriters.ErrorNegotiated(err, e.Scope.Serializer, e.Scope.Kind.GroupVersion(), w, req)
	}
}

// write takes the steps of a write. The first step that fails ends the write with its error.
func (r *request) write(ctx context.Context) (runtime.Object, error) {
	for _, step := range []func(context.Context) error{
		r.readTarget,  // the name of the object, and the form of the answer
		r.readBody,    // within the limit
		r.readOptions, // dry run, field manager, field validation
		r.decode,      // an object conforms; a configuration has the right types and no unknown fields; a patch is JSON
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	ctx = genericapirequest.WithNamespace(ctx, r.namespace)
	return finisher.FinishRequest(ctx, func() (runtime.Object, error) {
		// The registry store calls newObject, and then judges, validates and writes, see store.
		result, err := r.store(ctx)
		if isTooLarge(err) && r.patchType != apply {
			// Managed fields may be most of the object. The object can be stored without them.
			r.withoutManagers = true
			result, err = r.store(ctx)
		}
		return result, err
	})
}

// newObject returns the object to store in place of the old one, which is nil if there is none.
func (r *request) newObject(ctx context.Context, old *object.Object) (*object.Object, error) {
	// The object of the request, or the old object with a patch or a configuration, and its managed fields.
	obj, err := r.fromRequest(ctx, old)
	if err != nil {
		return nil, err
	}
	if old == nil && r.IsTerminating() {
		return nil, r.refuseCreate()
	}
	if old == nil && r.closed != nil {
		return nil, r.closed
	}
	// Plugins and webhooks get an object that conforms and has the right types.
	if err := r.checkTypes(obj, old); err != nil {
		return nil, err
	}
	if err := r.mutate(ctx, obj, old); err != nil {
		return nil, err
	}
	// Their changes are treated like those of the client.
	if err := r.checkTypes(obj, old); err != nil {
		return nil, err
	}
	r.Version.Conform(obj.Object)
	r.keepOtherPart(obj, old)
	keepTimes(obj, old)
	return obj, nil
}

// fromRequest returns what the request makes of the old object, with its managed fields. The result conforms.
func (r *request) fromRequest(ctx context.Context, old *object.Object) (obj *object.Object, err error) {
	switch {
	case r.patchType == apply:
		obj, err = r.fromApply(old)
	case old == nil:
		obj = r.Fields.Create(r.received, r.manager)
	default:
		obj, err = r.fromUpdate(ctx, old)
	}
	if err != nil {
		return nil, err
	}
	r.Version.NormalizeManagedFields(obj.Object)
	return obj, nil
}

// fromUpdate returns the object of an update, or the old object with a patch.
func (r *request) fromUpdate(ctx context.Context, old *object.Object) (obj *object.Object, err error) {
	if r.patchType != "" {
		if obj, err = r.fromPatch(ctx, old); err != nil {
			return nil, err
		}
		return r.Fields.Update(old, obj, r.manager), nil
	}
	obj = r.received.Copy()
	if r.withoutManagers {
		obj.SetManagedFields(nil)
		return obj, nil
	}
	return r.Fields.Update(old, obj, r.manager), nil
}

// keepOtherPart restores the part of the old object that the endpoint does not write: the status, or everything else. A new object has
// no status, not even a default one: validation and validating plugins see what is stored.
func (r *request) keepOtherPart(obj, old *object.Object) {
	if r.Scope.Subresource != "" {
		keepAllButStatus(obj, old)
		return
	}
	if !r.Version.Compiled.HasStatus() {
		return
	}
	delete(obj.Object, "status")
	if old == nil {
		return
	}
	if status, ok := old.Object["status"]; ok {
		obj.Object["status"] = status
	}
}
