package fairness

import (
	"context"
	"strconv"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// object is a FlowSchema or a PriorityLevelConfiguration.
type object interface {
	metav1.Object
	comparable
}

// ensurer keeps the default objects of one kind.
type ensurer[T object] struct {
	// defaults are the objects to keep, by name.
	defaults map[string]T
	// mandatory names the defaults with a spec that an administrator cannot change.
	mandatory map[string]bool

	get            func(name string) (T, error)
	create, update func(ctx context.Context, obj T) error
	remove         func(ctx context.Context, obj T) error
	copy           func(T) T
	// setSpec gives into the spec of from.
	setSpec func(into, from T)
	spec    func(T) any
}

// ensure creates the default object of that name if it is missing. If its spec differs from
// the default, ensure restores the spec, unless an administrator may change it, see
// updatesAutomatically. An object that is no default, but has the annotation with the value
// "true", was a default of an earlier version, and ensure deletes it.
func (e *ensurer[T]) ensure(ctx context.Context, name string) error {
	want, isDefault := e.defaults[name]
	have, err := e.get(name)
	switch {
	case apierrors.IsNotFound(err) && !isDefault:
		return nil
	case apierrors.IsNotFound(err):
		created := e.copy(want)
		created.SetAnnotations(map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: "true"})
		return e.create(ctx, created)
	case err != nil:
		return err
	case !isDefault:
		if have.GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey] != "true" {
			return nil
		}
		return ignoreNotFound(e.remove(ctx, have))
	}
	updated := e.copy(have)
	automatic := e.mandatory[name] || updatesAutomatically(have)
	annotations := updated.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[flowcontrolv1.AutoUpdateAnnotationKey] = strconv.FormatBool(automatic)
	updated.SetAnnotations(annotations)
	if automatic {
		e.setSpec(updated, want)
	}
	if apiequality.Semantic.DeepEqual(e.spec(updated), e.spec(have)) &&
		apiequality.Semantic.DeepEqual(updated.GetAnnotations(), have.GetAnnotations()) {
		return nil
	}
	return ignoreNotFound(e.update(ctx, updated))
}

// updatesAutomatically reports whether the server may replace the spec of a suggested
// object. The annotation decides. Without a valid annotation, the server may replace the
// spec if the generation is 1, because then the spec has not changed since the creation.
func updatesAutomatically(obj metav1.Object) bool {
	automatic, err := strconv.ParseBool(obj.GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey])
	if err != nil {
		return obj.GetGeneration() == 1
	}
	return automatic
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
