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
)

// work looks after the definitions in the queue, one at a time: names are given
// out in order.
func (f *follower) work(ctx context.Context) {
	for {
		name, shutdown := f.queue.Get()
		if shutdown {
			return
		}
		again, err := f.look(ctx, name)
		switch {
		case err == nil && !again:
			f.queue.Forget(name)
		case err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && ctx.Err() == nil:
			klog.ErrorS(err, "definition is not looked after", "definition", name)
			fallthrough
		default:
			f.queue.AddRateLimited(name)
		}
		f.queue.Done(name)
	}
}

// look brings the status of a definition up to date, and removes the objects of
// one that is going. again says that there is more to do.
func (f *follower) look(ctx context.Context, name string) (again bool, err error) {
	f.mu.Lock()
	seen := f.seen[name]
	f.mu.Unlock()
	if seen == nil {
		return false, nil
	}
	if seen.DeletionTimestamp != nil {
		return f.finalize(ctx, seen)
	}
	crd := seen.DeepCopy()
	f.decide(crd)
	if apiequality.Semantic.DeepEqual(seen.Status, crd.Status) {
		return false, nil
	}
	if !isServed(crd) || isServed(seen) {
		return false, f.write(ctx, crd)
	}
	f.anticipate(crd)
	if err := f.write(ctx, crd); err != nil {
		f.retract(crd)
		return false, err
	}
	return false, nil
}

// decide sets the status that follows from the spec and from the names that
// others have.
func (f *follower) decide(crd *definition.CustomResourceDefinition) {
	now := metav1.Now()
	accepted, namesAccepted, established := definition.AcceptNames(crd, f.all())
	crd.Status.AcceptedNames = accepted
	definition.SetCondition(crd, namesAccepted, now)
	definition.SetCondition(crd, established, now)
	// The server that answers a request opens what it needs for it, so a
	// definition whose names are accepted is served at once.
	if condition, ok := definition.Establish(crd); ok {
		if f.server.builtIn[crd.Spec.Group] {
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
func (f *follower) write(ctx context.Context, crd *definition.CustomResourceDefinition) error {
	ctx = genericapirequest.WithNamespace(ctx, metav1.NamespaceNone)
	out, _, err := f.server.config.DefinitionsStatus.Update(ctx, crd.Name, rest.DefaultUpdatedObjectInfo(crd),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	if written, ok := out.(*definition.CustomResourceDefinition); ok && written.DeletionTimestamp == nil {
		f.settle(ctx, written)
	}
	return nil
}
