package applied

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Preconditions implements rest.UpdatedObjectInfo. A configuration has none.
func (*request) Preconditions() *metav1.Preconditions { return nil }

// UpdatedObject implements rest.UpdatedObjectInfo. It returns the stored object with the configuration, after mutating admission. The store calls it
// again if another write came first. An object without a UID is not stored.
func (r *request) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	uid, err := uidOf(old)
	if err != nil {
		return nil, err
	}
	isStored := uid != ""
	if !isStored {
		if old, err = r.scope.Creater.New(r.scope.Kind); err != nil {
			return nil, fmt.Errorf("failed to create new object: %w", err)
		}
	}
	obj, err := r.apply(old)
	if err != nil {
		return nil, err
	}
	if uid, err = uidOf(obj); err != nil {
		return nil, err
	}
	if uid != "" && !isStored {
		return nil, apierrors.NewConflict(r.scope.Resource.GroupResource(), r.name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	if err := r.checkTarget(obj); err != nil {
		return nil, err
	}
	if !isStored {
		old = nil
	}
	return obj, r.mutate(ctx, obj, old)
}

// apply applies the configuration to an object. The field manager may change a configuration, so each attempt has its own.
func (r *request) apply(to runtime.Object) (runtime.Object, error) {
	configuration := r.configuration
	if r.configuration = nil; configuration == nil {
		var ok bool
		if configuration, ok = Decode(r.body); !ok {
			return nil, apierrors.NewInternalError(errors.New("the body of the request has changed"))
		}
	}
	force := r.options.Force != nil && *r.options.Force
	return r.scope.FieldManager.Apply(to, &unstructured.Unstructured{Object: configuration}, r.options.FieldManager, force)
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
