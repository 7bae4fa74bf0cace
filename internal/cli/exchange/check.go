package exchange

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"holdfast.dev/holdfast/internal/apiserver/replace"
	"holdfast.dev/holdfast/internal/replacement"
	"holdfast.dev/holdfast/internal/replacement/journal"
)

// Check returns why a replacement cannot be made now, nil if nothing speaks against it. It writes nothing: it applies the rules of package
// replacement, and asks the server with dry runs of the deletion, of the create and of the journal.
func (e *Exchanger) Check(ctx context.Context, target Target) error {
	if err := e.obstacle(ctx, target); err != nil {
		return fmt.Errorf("%s/%s: %w", target.Old.GetKind(), target.Old.GetName(), err)
	}
	return nil
}

func (e *Exchanger) obstacle(ctx context.Context, target Target) error {
	if reason := replacement.Never(target.Resource.GroupResource()); reason != "" {
		return fmt.Errorf("%s are never replaced: %s", target.Resource.GroupResource(), reason)
	}
	object := replacement.Object{
		Resource: target.Resource.GroupResource(), Kind: target.Old.GetKind(), Name: target.Old.GetName(), Finalizers: target.Old.GetFinalizers(),
		Deleting: target.Old.GetDeletionTimestamp() != nil,
	}
	if err := e.describe(ctx, target.Old, &object); err != nil {
		return err
	}
	if err := object.Obstacle(e.AllowDataLoss); err != nil {
		return fmt.Errorf("the object cannot be replaced: %w", err)
	}
	if err := e.tryJournal(ctx, target); err != nil {
		return err
	}
	if err := e.tryDelete(ctx, target); err != nil {
		return err
	}
	return e.tryCreate(ctx, target)
}

// describe adds what the rules need to know about an object of some built-in kinds.
func (e *Exchanger) describe(ctx context.Context, old *unstructured.Unstructured, object *replacement.Object) error {
	typed, err := scheme.Scheme.New(old.GroupVersionKind())
	if err != nil {
		return nil //nolint:nilerr // a custom resource
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(old.Object, typed); err != nil {
		return fmt.Errorf("read the object: %w", err)
	}
	pods := func(ctx context.Context, namespace string) ([]corev1.Pod, error) {
		list, err := e.Cluster.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("look for pods that use the claim: %w", err)
		}
		return list.Items, nil
	}
	return replace.Describe(ctx, typed, pods, object)
}

// tryJournal asks the server whether the user may write the journal, change it and remove it.
func (e *Exchanger) tryJournal(ctx context.Context, target Target) error {
	user, err := e.User(ctx)
	if err != nil {
		return err
	}
	secret, err := e.entry(target, user).Secret()
	if err != nil {
		return err
	}
	_, err = e.Cluster.CoreV1().Secrets(secret.Namespace).Create(ctx, secret, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil && !apierrors.IsAlreadyExists(err) { // Replace finds out which run it is of
		return fmt.Errorf("the journal of the replacement, a Secret in the namespace %s, cannot be written: %w", secret.Namespace, err)
	}
	for _, verb := range []string{"get", "update", "delete"} {
		review, err := e.Cluster.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Version: "v1", Resource: "secrets", Namespace: secret.Namespace, Name: secret.Name,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("ask the server for the rights to the journal: %w", err)
		}
		if !review.Status.Allowed {
			return fmt.Errorf("the journal of the replacement is a Secret in the namespace %s, and the user lacks the right to %s it", secret.Namespace, verb)
		}
	}
	return nil
}

// tryDelete asks the server whether it would delete the old object.
func (e *Exchanger) tryDelete(ctx context.Context, target Target) error {
	options := deletion(e.entry(target, ""))
	options.DryRun = []string{metav1.DryRunAll}
	err := e.client(target.Resource, target.Old.GetNamespace()).Delete(ctx, target.Old.GetName(), options)
	if err != nil {
		return fmt.Errorf("the server would not delete the old object: %w", err)
	}
	return nil
}

// tryCreate asks the server whether it would create the new object. The server validates it and asks admission before it finds that the
// name is taken.
func (e *Exchanger) tryCreate(ctx context.Context, target Target) error {
	trial := target.Trial
	if trial == nil {
		trial = target.New
	}
	_, err := e.client(target.Resource, target.New.GetNamespace()).Create(ctx, trial, metav1.CreateOptions{
		FieldManager: e.FieldManager, DryRun: []string{metav1.DryRunAll},
	})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err), isQuota(err):
		return nil // the deletion of the old object makes room in a quota
	}
	return fmt.Errorf("the server would not create the new object: %w", err)
}

// isQuota reports whether an error is about a quota that is used up.
func isQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// deletion returns the options with which the old object of a journal is deleted.
func deletion(entry *journal.Entry) metav1.DeleteOptions {
	return metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &entry.UID, ResourceVersion: &entry.ResourceVersion},
		PropagationPolicy: &entry.Propagation,
	}
}
