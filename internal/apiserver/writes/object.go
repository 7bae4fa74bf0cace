package writes

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	requestmetrics "k8s.io/apiserver/pkg/endpoints/handlers/metrics"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/apiserver/managers"
)

// Preconditions implements rest.UpdatedObjectInfo. Only an update has some.
func (r *request) Preconditions() *metav1.Preconditions { return r.preconditions }

// UpdatedObject implements rest.UpdatedObjectInfo. It returns the stored object after the write and after mutating admission. The store calls it
// again if another write came first. An object without a UID is not stored.
func (r *request) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	uid, err := uidOf(old)
	if err != nil {
		return nil, err
	}
	isStored := uid != ""
	obj, err := r.change(old, isStored)
	if err != nil {
		return nil, err
	}
	if uid, err = uidOf(obj); err != nil {
		return nil, err
	}
	if uid != "" && !isStored && r.verb == requestmetrics.Patch {
		return nil, apierrors.NewConflict(r.scope.Resource.GroupResource(), r.name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	if err := r.checkTarget(obj); err != nil {
		return nil, err
	}
	if !isStored {
		old = nil
	}
	if err := r.mutate(ctx, obj, old); err != nil || !r.bare {
		return obj, err
	}
	return managers.WithoutEntries(obj), nil
}

// checkTarget refuses an object with another name or namespace than the request has, in the words of Kubernetes.
func (r *request) checkTarget(obj runtime.Object) error {
	if accessor, err := meta.Accessor(obj); err == nil {
		expected := rest.ExpectedNamespaceForResource(r.namespace, r.scope.Resource)
		if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(expected, accessor); err != nil {
			return err
		}
	}
	namespace, name, err := r.scope.Namer.ObjectName(obj)
	switch {
	case err != nil:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: %v", r.name, err))
	case name != r.name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, r.name))
	case r.namespace != "" && namespace != "" && namespace != r.namespace:
		return apierrors.NewBadRequest(fmt.Sprintf("the namespace of the object (%s) does not match the namespace on the request (%s)", namespace, r.namespace))
	}
	return nil
}

func uidOf(obj runtime.Object) (string, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return "", apierrors.NewInternalError(err)
	}
	return string(accessor.GetUID()), nil
}
