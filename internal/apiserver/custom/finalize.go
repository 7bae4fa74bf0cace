package custom

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
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
	left, err := c.deleteObjects(ctx, observed)
	if err != nil {
		return err
	}
	crd := observed.DeepCopy()
	condition := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Terminating}
	if left > 0 {
		condition.Status, condition.Reason = apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress"
		condition.Message = fmt.Sprintf("CustomResource deletion is in progress: %d left", left)
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

// deleteObjects deletes the objects of a definition and returns how many are left.
func (c *controller) deleteObjects(ctx context.Context, crd *definition.CustomResourceDefinition) (int, error) {
	r := c.server.acquire(kind.ResourceOf(crd))
	if r == nil {
		// The definition was never served, so it has no objects.
		return 0, nil
	}
	defer r.Release()
	store, err := r.Store()
	if err != nil {
		return 0, err
	}
	ctx = genericapirequest.WithNamespace(ctx, metav1.NamespaceAll)
	list, err := store.List(ctx, &internalversion.ListOptions{})
	if err != nil {
		return 0, err
	}
	objects, err := meta.ExtractList(list)
	if err != nil {
		return 0, err
	}
	left := 0
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
		_, deleted, err := store.Delete(inNamespace, u.GetName(), rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
		if err == nil && !deleted {
			left++
		}
	}
	return left, nil
}
