package policies

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/internal/apiserver/rights"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/internal/protection"
)

// namespaces is the resource of Namespaces.
var namespaces = schema.GroupResource{Resource: "namespaces"}

// unlock is the verb that lets a user take an object out of a policy.
const unlock = "unlock"

// selecting are the selectors of a policy.
type selecting struct {
	policy string
	// warns means that all rules of the policy only warn.
	warns bool
	policy.Match
	resources []string
}

// addSelecting adds the selectors of a policy, if it has some, and rules in force.
func (t *table) addSelecting(of *policy.ImmutabilityPolicy) {
	match, err := policy.NewMatch(of)
	matched := t.Reports[of.Name].Matched
	if err != nil || len(matched) == 0 || match.SelectsAll() {
		return
	}
	warns := true
	for _, text := range matched {
		name := schema.ParseGroupResource(text)
		if guarded := t.Resources[name]; guarded != nil {
			for _, from := range guarded.Sources {
				warns = warns && (from.Policy != of.Name || from.Warns)
			}
		}
		for _, kept := range t.Kept[name] {
			warns = warns && (kept.Policy != of.Name || kept.Warns)
		}
	}
	t.selecting = append(t.selecting, selecting{policy: of.Name, warns: warns, Match: match, resources: matched})
}

// Relabelled is an update of an object of a resource.
type Relabelled struct {
	Resource schema.GroupResource
	Kind     schema.GroupKind
	New, Old metav1.Object
}

// CheckSelection refuses an update after which a policy no longer selects the object, or the objects of a namespace, unless the user
// may unlock it. Otherwise a client could remove a label, change the field, and add the label again.
func (r *Rules) CheckSelection(ctx context.Context, u Relabelled) error {
	if r == nil {
		return nil
	}
	t := r.current.Load()
	if t == nil || len(t.selecting) == 0 || maps.Equal(u.New.GetLabels(), u.Old.GetLabels()) {
		return nil
	}
	for _, s := range t.selecting {
		leaves, err := r.leaves(ctx, t, s, u)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		if !leaves {
			continue
		}
		message := fmt.Sprintf("field is immutable: policy %s would no longer select it", s.policy)
		if s.warns {
			warning.AddWarning(ctx, "", "metadata.labels: "+message)
			continue
		}
		if !rights.May(ctx, unlock) {
			protection.Refuse(ctx, protection.Policy, "metadata.labels")
			return refuseLabels(u, message+" (a user that may unlock it can change it)")
		}
	}
	return nil
}

// leaves reports whether a policy selects an object, or the objects of a namespace, only before an update.
func (r *Rules) leaves(ctx context.Context, t *table, s selecting, u Relabelled) (bool, error) {
	was, is := labels.Set(u.Old.GetLabels()), labels.Set(u.New.GetLabels())
	namespace := u.Old.GetNamespace()
	if u.Resource == namespaces {
		namespace = u.Old.GetName()
		if s.SelectsNamespace(was) && !s.SelectsNamespace(is) && !t.excluded(s.policy, namespace) {
			return true, nil
		}
	}
	if !s.SelectsObject(was) || s.SelectsObject(is) || !slices.Contains(s.resources, u.Resource.String()) || t.excluded(s.policy, namespace) {
		return false, nil
	}
	if namespace == "" {
		return s.SelectsNamespace(labels.Set{}), nil
	}
	found, err := r.labelsOf(ctx)(namespace)
	return err == nil && s.SelectsNamespace(found), err
}

// refuseLabels returns the answer to a refused change of labels.
func refuseLabels(u Relabelled, message string) error {
	cause := metav1.StatusCause{Type: refusal.CauseTypeFieldImmutable, Field: "metadata.labels", Message: message}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest,
		Message: fmt.Sprintf("%s %q cannot be changed this way: metadata.labels: %s", u.Kind, u.Old.GetName(), message),
		Details: &metav1.StatusDetails{
			Group: u.Kind.Group, Kind: u.Kind.Kind, Name: u.Old.GetName(), UID: u.Old.GetUID(), Causes: []metav1.StatusCause{cause},
		},
	}}
}
