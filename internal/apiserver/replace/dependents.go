package replace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"holdfast.dev/holdfast/internal/apiserver/rights"
	"holdfast.dev/holdfast/internal/replacement"
)

// Dependent is a stored object with an owner reference to another one.
type Dependent struct {
	// Resource has no version if the server does not serve the object.
	Resource schema.GroupVersionResource
	Metadata metav1.ObjectMeta
}

// Dependents finds and changes the dependents of objects.
type Dependents interface {
	// Collected reports whether the garbage collector of this server collects dependents.
	Collected() bool
	// Dependents returns the objects that refer to an object in a namespace, or to one without a namespace.
	Dependents(ctx context.Context, owner types.UID, namespace string) ([]Dependent, error)
	// Try asks, with a dry run, whether the garbage collector may give an object other owner references.
	Try(ctx context.Context, dependent Dependent, owners []metav1.OwnerReference) error
}

const (
	// triesAtOnce is how many dry runs of one replacement run in parallel.
	triesAtOnce = 16
	// triesLimit is how many dependents are asked about. A dry run takes some milliseconds, and the request must end in time. The others
	// are not deleted either if the garbage collector may not change them.
	triesLimit = 500
	// refusalsNamed is how many refusals of dependents an answer names.
	refusalsNamed = 5
)

// keptAnnotation is the audit annotation of a replacement whose dependents are kept.
const keptAnnotation = "holdfast.dev/replaced-dependents"

// checkDependents checks, before anything is written, that the user may change the dependents of the old object, and that the garbage collector
// can. A dependent that comes later is not checked: the user that sets the reference then has the right to.
func (r *Replacer) checkDependents(ctx context.Context, swap *replacement.Swap, name string) error {
	created := &metav1.ObjectMeta{UID: uuid.NewUUID()} // the new object has its UID later
	record := swap.Record(created, metav1.Now().Time)
	if record == nil {
		return nil
	}
	if !r.objects.Collected() {
		return apierrors.NewBadRequest(replacement.PolicyParameter + "=Orphan: the garbage collector of this server is off (--controllers), and another " +
			"one would delete the dependents: replace the object without it")
	}
	all, err := r.objects.Dependents(ctx, record.Old, record.Namespace)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("find the dependents of the object: %w", err))
	}
	all = slices.DeleteFunc(all, func(d Dependent) bool {
		named := func(ref metav1.OwnerReference) bool { return record.Names(ref, d.Metadata.Namespace) }
		// One that is being deleted stays as it is.
		return d.Metadata.DeletionTimestamp != nil || !slices.ContainsFunc(d.Metadata.OwnerReferences, named)
	})
	for _, dependent := range all {
		if err := mayUpdate(ctx, dependent); err != nil {
			return apierrors.NewForbidden(swap.Resource, name, err)
		}
	}
	if err := r.try(ctx, record, all); err != nil {
		return apierrors.NewConflict(swap.Resource, name, err)
	}
	return nil
}

// mayUpdate returns an error if the user may not update a dependent. It names the dependent only to a user that may read it.
func mayUpdate(ctx context.Context, dependent Dependent) error {
	may := func(verb string) bool {
		return rights.MayObject(ctx, verb, dependent.Resource, dependent.Metadata.Namespace, dependent.Metadata.Name)
	}
	if may("update") {
		return nil
	}
	object := dependent.Resource.GroupResource().String()
	if may("get") {
		object = dependent.String()
	}
	return fmt.Errorf("to keep the dependents takes the verb update for each of them, and the user lacks it for %s", object)
}

// String names the object.
func (d Dependent) String() string {
	text := fmt.Sprintf("%s %q", d.Resource.GroupResource(), d.Metadata.Name)
	if d.Metadata.Namespace != "" {
		text += fmt.Sprintf(" in namespace %q", d.Metadata.Namespace)
	}
	return text
}

// try asks whether the garbage collector may change the dependents.
func (r *Replacer) try(ctx context.Context, record *replacement.Record, all []Dependent) error {
	all = all[:min(len(all), triesLimit)]
	refusals := make([]error, len(all))
	var group errgroup.Group
	group.SetLimit(triesAtOnce)
	for i, dependent := range all {
		if dependent.Resource.Version == "" {
			continue // the garbage collector changes it when it is served again
		}
		group.Go(func() error {
			owners := record.Change(slices.Clone(dependent.Metadata.OwnerReferences), dependent.Metadata.Namespace)
			if err := r.objects.Try(ctx, dependent, owners); err != nil && !isUndecided(err) {
				refusals[i] = fmt.Errorf("the owner references of %s cannot be changed: %w", dependent, err)
			}
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	refusals = slices.DeleteFunc(refusals, func(err error) bool { return err == nil })
	if more := len(refusals) - refusalsNamed; more > 0 {
		refusals = append(refusals[:refusalsNamed], fmt.Errorf("and those of %d more", more))
	}
	return errors.Join(refusals...)
}

// isUndecided reports whether the error of a dry run says nothing about the later write: the object has gone or has changed meanwhile, or a
// webhook has no dry runs.
func isUndecided(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) ||
		apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}
