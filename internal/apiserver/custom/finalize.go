package custom

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/reconcile"
)

// finalize deletes the objects of a definition that is being deleted, and removes
// the definition's finalizer when the last object is gone. While finalizers keep
// objects, it returns reconcile.ErrNotYet, and the controller calls it again. There is
// no time limit.
func (c *controller) finalize(ctx context.Context, observed *definition.CustomResourceDefinition) error {
	if !slices.Contains(observed.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
		return nil
	}
	// The name may belong to another definition by now, with objects of its own: another server can have deleted this one.
	revision, err := strconv.ParseInt(observed.ResourceVersion, 10, 64)
	if err != nil {
		return err
	}
	left, kept, err := c.deleteObjects(definitions.Fence(ctx, observed.Name, revision, nil), observed)
	var changed *etcd.FenceError
	if errors.As(err, &changed) {
		return reconcile.ErrNotYet
	}
	if err != nil {
		return err
	}
	crd := observed.DeepCopy()
	condition := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Terminating}
	if left > 0 {
		condition.Status, condition.Reason = apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress"
		condition.Message = fmt.Sprintf("CustomResource deletion is in progress: %d left", left)
		if kept != nil {
			condition.Message += ": " + kept.Error()
		}
	} else {
		condition.Status, condition.Reason = apiextensionsv1.ConditionFalse, "InstanceDeletionCompleted"
		condition.Message = "removed all instances"
		crd.Finalizers = slices.DeleteFunc(crd.Finalizers, func(name string) bool {
			return name == apiextensionsv1.CustomResourceCleanupFinalizer
		})
	}
	if definition.SetCondition(crd, condition, metav1.Now()) {
		if err := c.writeStatus(ctx, crd); err != nil {
			return err
		}
	}
	if left > 0 {
		return reconcile.ErrNotYet
	}
	return nil
}

// deleteObjects deletes the objects of a definition and returns how many are left. An object that became kept after the deletion of the
// definition began stays; kept is the refusal of the first one.
func (c *controller) deleteObjects(ctx context.Context, crd *definition.CustomResourceDefinition) (left int, kept, err error) {
	r := c.server.acquire(kind.ResourceOf(crd))
	if r == nil {
		// The definition was never served, so it has no objects.
		return 0, nil, nil
	}
	defer r.Release()
	store, err := r.Store()
	if err != nil {
		return 0, nil, err
	}
	ctx = genericapirequest.WithNamespace(ctx, metav1.NamespaceAll)
	list, err := store.List(ctx, &internalversion.ListOptions{})
	if err != nil {
		return 0, nil, err
	}
	objects, err := meta.ExtractList(list)
	if err != nil {
		return 0, nil, err
	}
	validate := c.server.keep(kind.ResourceOf(crd).WithVersion(r.Storage().Name))
	for _, obj := range objects {
		u, ok := obj.(*object.Object)
		if !ok {
			continue
		}
		if u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) > 0 {
			left++
			continue
		}
		inNamespace := genericapirequest.WithNamespace(ctx, u.GetNamespace())
		_, deleted, err := store.Delete(inNamespace, u.GetName(), validate, &metav1.DeleteOptions{})
		switch {
		case keep.IsRefusal(err):
			left++
			if kept == nil {
				kept = err
			}
		case err != nil && !apierrors.IsNotFound(err):
			return 0, nil, err
		case err == nil && !deleted:
			left++
		}
	}
	return left, kept, nil
}

// keep returns the validation of deletions that no client sent.
func (s *Server) keep(resource schema.GroupVersionResource) rest.ValidateObjectFunc {
	if s.config.Keep == nil {
		return rest.ValidateAllObjectFunc
	}
	return func(ctx context.Context, obj runtime.Object) error { return s.config.Keep(ctx, resource, obj) }
}
