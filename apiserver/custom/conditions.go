package custom

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/definition"
	"holdfast.dev/holdfast/reconcile"
)

// reconcile brings the status of a definition up to date, and removes the objects of
// a definition that is being deleted.
func (c *controller) reconcile(ctx context.Context, name string) (reconcile.Result, error) {
	c.mu.Lock()
	seen := c.seen[name]
	c.mu.Unlock()
	if seen == nil {
		return reconcile.Result{}, nil
	}
	update := c.updateStatus
	if seen.DeletionTimestamp != nil {
		update = c.finalize
	}
	err := update(ctx, seen)
	if apierrors.IsNotFound(err) {
		// The definition is deleted already, and the informer has not seen it yet.
		err = reconcile.ErrNotYet
	}
	return reconcile.Result{}, err
}

func logRetry(_ context.Context, name string, err error) {
	klog.ErrorS(err, "definition is not looked after", "definition", name)
}

// updateStatus writes the status of a definition if it changed. A definition that
// becomes established is served before its status says so.
func (c *controller) updateStatus(ctx context.Context, seen *definition.CustomResourceDefinition) error {
	crd := seen.DeepCopy()
	c.decide(crd)
	if apiequality.Semantic.DeepEqual(seen.Status, crd.Status) {
		return nil
	}
	if !isServed(crd) || isServed(seen) {
		return c.write(ctx, crd)
	}
	c.anticipate(crd)
	err := c.write(ctx, crd)
	if err != nil {
		c.retract(crd)
	}
	return err
}

// decide sets the status that follows from the spec and from the names that
// others have.
func (c *controller) decide(crd *definition.CustomResourceDefinition) {
	now := metav1.Now()
	accepted, namesAccepted, established := definition.AcceptNames(crd, c.all())
	crd.Status.AcceptedNames = accepted
	definition.SetCondition(crd, namesAccepted, now)
	definition.SetCondition(crd, established, now)
	// The server that answers a request opens what it needs for it, so a
	// definition whose names are accepted is served at once.
	if condition, ok := definition.Establish(crd); ok {
		if c.server.builtIn[crd.Spec.Group] {
			condition.Status, condition.Reason = apiextensionsv1.ConditionFalse, "BuiltInGroup"
			condition.Message = "the group belongs to built-in kinds; define the resource in another one"
		}
		definition.SetCondition(crd, condition, now)
	}
	if condition, ok := definition.NonStructural(crd); ok {
		definition.SetCondition(crd, condition, now)
	} else {
		definition.RemoveCondition(crd, apiextensionsv1.NonStructuralSchema)
	}
	if condition, ok := definition.APIApproval(crd); ok {
		definition.SetCondition(crd, condition, now)
	} else {
		definition.RemoveCondition(crd, apiextensionsv1.KubernetesAPIApprovalPolicyConformant)
	}
}

// write stores the status, and the finalizers, of a definition, and waits until
// this server goes by it: the next decision builds on it.
func (c *controller) write(ctx context.Context, crd *definition.CustomResourceDefinition) error {
	ctx = genericapirequest.WithNamespace(ctx, metav1.NamespaceNone)
	out, _, err := c.server.config.DefinitionsStatus.Update(ctx, crd.Name, rest.DefaultUpdatedObjectInfo(crd),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	if written, ok := out.(*definition.CustomResourceDefinition); ok && written.DeletionTimestamp == nil {
		c.settle(ctx, written)
	}
	return nil
}
