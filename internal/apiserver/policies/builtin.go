package policies

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/apiserver/update"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/policy"
)

// BuiltIn is an update of an object of a built-in kind, or of a CustomResourceDefinition.
type BuiltIn struct {
	Resource schema.GroupResource
	// Kind has the version of the objects.
	Kind     schema.GroupVersionKind
	New, Old runtime.Object
}

// CheckBuiltIn returns an error for each change that a policy forbids.
func (r *Rules) CheckBuiltIn(ctx context.Context, b BuiltIn) field.ErrorList {
	if r == nil {
		return nil
	}
	t := r.current.Load() // the next table may not have the resource
	if t == nil || t.Resources[b.Resource] == nil {
		return nil
	}
	u, err := b.update()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	found, err := r.check(ctx, t, b.Resource, u)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if found.IsEmpty() {
		update.Override(ctx, refusal.Answer{}, nil)
		return nil
	}
	answer := refusal.Answer{Kind: b.Kind.GroupKind(), Name: u.Name, Values: showsValues(ctx, b.Resource)}
	if len(found.Refused) == 0 {
		update.Override(ctx, answer, found.Allowed)
		return nil
	}
	var errs field.ErrorList
	for _, one := range found.Refused {
		errs = append(errs, invalid(one, answer))
	}
	return errs
}

// JudgeBuiltIn is CheckBuiltIn for a registry that does not validate updates itself: it returns the answer.
func (r *Rules) JudgeBuiltIn(ctx context.Context, b BuiltIn) error {
	errs := r.CheckBuiltIn(ctx, b)
	if len(errs) == 0 {
		return nil
	}
	accessor, err := meta.Accessor(b.Old)
	if err != nil {
		return err
	}
	return apierrors.NewInvalid(b.Kind.GroupKind(), accessor.GetName(), errs)
}

// update returns the write as the rules see it.
func (b BuiltIn) update() (*policy.Update, error) {
	accessor, err := meta.Accessor(b.Old)
	if err != nil {
		return nil, err
	}
	u := &policy.Update{Version: b.Kind.Version, Namespace: accessor.GetNamespace(), Name: accessor.GetName()}
	if b.Resource == namespaces { // as in admission, a namespace is in itself
		u.Namespace = u.Name
	}
	if u.OldObj, err = runtime.DefaultUnstructuredConverter.ToUnstructured(b.Old); err != nil {
		return nil, err
	}
	u.NewObj, err = runtime.DefaultUnstructuredConverter.ToUnstructured(b.New)
	return u, err
}

// invalid returns a violation as an error of validation.
func invalid(one refusal.Violation, answer refusal.Answer) *field.Error {
	var shown any = field.OmitValueType{}
	if answer.Values {
		shown = one.New
	}
	return field.Invalid(field.NewPath(one.Path.String()), shown, answer.Message(one))
}
