package installation

import (
	"context"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
)

// Outcome tells what was done with an object.
type Outcome struct {
	Object *unstructured.Unstructured
	// What is "created", "configured", "unchanged" or "deleted", and "missing", "differs" or
	// "unchanged" with Verify.
	What string
}

// Applier applies and deletes objects with regular plurals.
type Applier struct {
	Client       dynamic.Interface
	FieldManager string
	// Verify means that nothing is changed.
	Verify bool
}

// ApplyAll applies objects in their order, and reports the outcome of each.
func (a Applier) ApplyAll(ctx context.Context, objects []*unstructured.Unstructured, report func(Outcome)) error {
	for _, object := range objects {
		what, err := a.apply(ctx, object)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		report(Outcome{Object: object, What: what})
	}
	return nil
}

// DeleteAll deletes objects in their order, and reports each that existed.
func (a Applier) DeleteAll(ctx context.Context, objects []*unstructured.Unstructured, report func(Outcome)) error {
	for _, object := range objects {
		var options metav1.DeleteOptions
		if a.Verify {
			options.DryRun = []string{metav1.DryRunAll}
		}
		switch err := a.resource(object).Delete(ctx, object.GetName(), options); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		default:
			report(Outcome{Object: object, What: "deleted"})
		}
	}
	return nil
}

// apply applies an object and returns what it did.
func (a Applier) apply(ctx context.Context, object *unstructured.Unstructured) (string, error) {
	resource := a.resource(object)
	before, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
	existed := err == nil
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return "", err
	case !existed && a.Verify:
		// A dry run would fail if the namespace of the object is missing, too.
		return "missing", nil
	}
	// With force, changes by other managers, such as another number of replicas, are
	// overwritten.
	options := metav1.ApplyOptions{FieldManager: a.FieldManager, Force: true}
	if a.Verify {
		options.DryRun = []string{metav1.DryRunAll}
	}
	var applied *unstructured.Unstructured
	err = retry.OnError(patience, passes, func() (err error) {
		applied, err = resource.Apply(ctx, object.GetName(), object, options)
		return err
	})
	switch {
	case err != nil:
		return "", err
	case !existed:
		return "created", nil
	case before.GetResourceVersion() == applied.GetResourceVersion() && !a.Verify:
		return "unchanged", nil
	case a.Verify && sameExceptManagers(before, applied):
		return "unchanged", nil
	case a.Verify:
		return "differs", nil
	}
	return "configured", nil
}

// patience is how long an apply is sent again: about half a minute, as long as an API server may take to start again.
var patience = wait.Backoff{Steps: 6, Duration: time.Second, Factor: 2}

// passes reports whether a server that is busy or starts answered with err. The apply may be stored; a second one does no harm.
func passes(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err)
}

// sameExceptManagers compares the answer of a dry run with the stored object. A dry run may have
// another time in the managed fields.
func sameExceptManagers(a, b *unstructured.Unstructured) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	a.SetManagedFields(nil)
	b.SetManagedFields(nil)
	return apiequality.Semantic.DeepEqual(a.Object, b.Object)
}

// resource returns the client for the resource of an object. The plurals of all installed
// kinds are regular, so they can be guessed.
func (a Applier) resource(object *unstructured.Unstructured) dynamic.ResourceInterface {
	plural, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	if object.GetNamespace() == "" {
		return a.Client.Resource(plural)
	}
	return a.Client.Resource(plural).Namespace(object.GetNamespace())
}
