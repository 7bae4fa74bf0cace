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

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/reconcile"
)

// reconcile updates the status of a definition. For a definition that is being
// deleted it deletes the objects.
func (c *controller) reconcile(ctx context.Context, name string) (reconcile.Result, error) {
	c.mu.Lock()
	observed := c.observed[name]
	c.mu.Unlock()
	if observed == nil {
		return reconcile.Result{}, nil
	}
	// When the kind opens by itself, the condition goes.
	result := reconcile.Result{After: c.closings.remaining(observed)}
	update := c.updateStatus
	if observed.DeletionTimestamp != nil {
		update = c.finalize
	}
	err := update(ctx, observed)
	if apierrors.IsNotFound(err) {
		// The definition is deleted in storage, and the informer does not know it yet.
		err = reconcile.ErrNotYet
	}
	return result, err
}

func logRetry(_ context.Context, name string, err error) {
	klog.ErrorS(err, "the status of the definition is not up to date, will be tried again", "definition", name)
}

// updateStatus writes the status of a definition if it changed. A definition that
// becomes established is served before its status says so.
func (c *controller) updateStatus(ctx context.Context, observed *definition.CustomResourceDefinition) error {
	// After a start, no status changes. So the schemas are copied only if it did.
	computed := *observed
	computed.Status = *observed.Status.DeepCopy()
	c.computeStatus(&computed)
	if apiequality.Semantic.DeepEqual(observed.Status, computed.Status) {
		return nil
	}
	crd := computed.DeepCopy()
	if !kind.IsEstablished(crd) || kind.IsEstablished(observed) {
		return c.writeStatus(ctx, crd)
	}
	c.serveBeforeWrite(crd)
	err := c.writeStatus(ctx, crd)
	if err != nil {
		c.revert(crd)
	}
	return err
}

// computeStatus sets the status of a definition. It depends on the spec and on the
// names that other definitions have.
func (c *controller) computeStatus(crd *definition.CustomResourceDefinition) {
	now := metav1.Now()
	accepted, namesAccepted, established := definition.AcceptNames(crd, c.inGroup(crd.Spec.Group))
	crd.Status.AcceptedNames = accepted
	definition.SetCondition(crd, namesAccepted, now)
	definition.SetCondition(crd, established, now)
	// A definition with accepted names is established without delay: each server opens
	// the storage of a resource when the first request for it arrives.
	if condition, ok := definition.Establish(crd); ok {
		if c.server.builtIn[crd.Spec.Group] {
			condition.Status, condition.Reason = apiextensionsv1.ConditionFalse, "BuiltInGroup"
			condition.Message = "the group belongs to built-in kinds; define the resource in another one"
		}
		definition.SetCondition(crd, condition, now)
	}
	c.structural.set(crd, now)
	if c.closings.remaining(crd) == 0 {
		definitions.Reopen(crd) // the server that closed the kind has ended
	}
	if condition, ok := definition.APIApproval(crd); ok {
		definition.SetCondition(crd, condition, now)
	} else {
		definition.RemoveCondition(crd, apiextensionsv1.KubernetesAPIApprovalPolicyConformant)
	}
}

// writeStatus stores the status and the finalizers of a definition. It then waits
// until this server has observed the write, because the status of the next definition
// depends on it.
func (c *controller) writeStatus(ctx context.Context, crd *definition.CustomResourceDefinition) error {
	ctx = genericapirequest.WithNamespace(ctx, metav1.NamespaceNone)
	out, _, err := c.server.config.DefinitionsStatus.Update(ctx, crd.Name, rest.DefaultUpdatedObjectInfo(crd),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	if written, ok := out.(*definition.CustomResourceDefinition); ok && written.DeletionTimestamp == nil {
		ctx, cancel := context.WithTimeout(ctx, statusTimeout)
		defer cancel()
		c.settle(ctx, written)
	}
	return nil
}
