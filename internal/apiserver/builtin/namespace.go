package builtin

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/dryrun"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/storage"
)

// namespaceREST deletes a namespace in two steps. The first request marks it as
// terminating: nothing can be created in it any more, and a controller deletes its
// content. It is removed when its last finalizer is removed.
type namespaceREST struct {
	namespaceStore
	base *kindREST
}

// namespaceStore lists the verbs that namespaces support. Like Kubernetes, it leaves
// out deletecollection.
type namespaceStore interface {
	rest.Storage
	rest.Scoper
	rest.SingularNameProvider
	rest.ShortNamesProvider
	rest.Creater
	rest.Lister
	rest.Getter
	rest.Updater
	rest.Watcher
	rest.ResetFieldsStrategy
}

var _ rest.GracefulDeleter = &namespaceREST{}

func newNamespaceREST(base *kindREST) *namespaceREST {
	base.ShouldDeleteDuringUpdate = deleteEmptyNamespace
	return &namespaceREST{namespaceStore: base, base: base}
}

func deleteEmptyNamespace(ctx context.Context, key string, obj, existing runtime.Object) bool {
	ns, ok := obj.(*corev1.Namespace)
	return ok && len(ns.Spec.Finalizers) == 0 && genericregistry.ShouldDeleteDuringUpdate(ctx, key, obj, existing)
}

// Delete implements rest.GracefulDeleter.
func (r *namespaceREST) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	obj, err := r.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	ns, ok := obj.(*corev1.Namespace)
	if !ok {
		return nil, false, apierrors.NewInternalError(fmt.Errorf("unexpected object %T", obj))
	}
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	if ns.DeletionTimestamp == nil {
		marked, err := r.mark(ctx, name, validate, options)
		if err != nil {
			return nil, false, err
		}
		ns = marked
	}
	if len(ns.Spec.Finalizers) > 0 {
		return ns, false, nil
	}
	return r.base.Delete(ctx, name, validate, options)
}

// mark sets the deletion timestamp and the phase that admission reads.
func (r *namespaceREST) mark(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (*corev1.Namespace, error) {
	key, err := r.base.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	var conditions apistorage.Preconditions
	if options.Preconditions != nil {
		conditions.UID, conditions.ResourceVersion = options.Preconditions.UID, options.Preconditions.ResourceVersion
	}
	out := &corev1.Namespace{}
	terminate := storage.Update(func(current runtime.Object) (runtime.Object, error) {
		ns, ok := current.(*corev1.Namespace)
		if !ok {
			return nil, fmt.Errorf("unexpected object %T", current)
		}
		if validate != nil {
			if err := validate(ctx, ns); err != nil {
				return nil, err
			}
		}
		if ns.DeletionTimestamp == nil {
			now := metav1.Now()
			ns.DeletionTimestamp = &now
		}
		ns.Status.Phase = corev1.NamespaceTerminating
		return ns, nil
	})
	err = r.base.Storage.GuaranteedUpdate(ctx, key, out, false, &conditions, terminate, dryrun.IsDryRun(options.DryRun), nil)
	if err != nil {
		return nil, storage.Error(err, corev1.Resource("namespaces"), name)
	}
	return out, nil
}

// finalizeREST serves namespaces/finalize, the only endpoint that changes
// spec.finalizers.
type finalizeREST struct {
	store *genericregistry.Store
}

var (
	_ rest.Updater             = &finalizeREST{}
	_ rest.ResetFieldsStrategy = &finalizeREST{}
)

func newFinalizeREST(base *kindREST, s strategy) *finalizeREST {
	store := *base.Store
	store.UpdateStrategy = finalizeStrategy{s}
	return &finalizeREST{store: &store}
}

// New implements rest.Storage.
func (r *finalizeREST) New() runtime.Object { return r.store.New() }

// Store returns the store that Update writes to. Its strategies are those of the subresource.
func (r *finalizeREST) Store() *genericregistry.Store { return r.store }

// Destroy implements rest.Storage; the store of namespaces is destroyed once.
func (*finalizeREST) Destroy() {}

// Update implements rest.Updater.
func (r *finalizeREST) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	_ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, info, create, update, false, options)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (r *finalizeREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

type finalizeStrategy struct{ strategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (finalizeStrategy) PrepareForUpdate(_ context.Context, newObj, oldObj runtime.Object) {
	statusOf(newObj).Set(statusOf(oldObj))
}
