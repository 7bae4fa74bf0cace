package policies

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/policy"
)

// Explanation is what a policy, or the annotation of a definition, says about one object.
type Explanation struct {
	// Policy is the name of the policy, empty for the annotation.
	Policy string
	// Warns means that the rules only warn.
	Warns bool
	// Locks are the places that rules of a policy protect. Those of a definition are not among them.
	Locks []immutability.Lock
	// Kept are the rules no-delete.
	Kept []immutability.Mark
	// Holds evaluates the condition of a rule for the object. The error says why it cannot; the rule then holds.
	Holds func(expression string) (bool, error)
}

// Explain returns the policies that select an object of a resource, and the rules no-delete of its definition.
func (r *Rules) Explain(ctx context.Context, of schema.GroupVersionResource, content map[string]any) ([]Explanation, error) {
	if r == nil {
		return nil, nil
	}
	resource, obj := of.GroupResource(), unstructured.Unstructured{Object: content}
	object, namespace := policy.Object{Version: of.Version, Content: content}, obj.GetNamespace()
	if resource == (schema.GroupResource{Resource: "namespaces"}) { // as in admission, a namespace is in itself
		namespace = obj.GetName()
	}
	var found []Explanation
	add := func(from policy.Source, locks []immutability.Lock, kept []immutability.Mark) error {
		matches, err := from.Match.Matches(&policy.Update{Namespace: namespace, OldObj: content, NewObj: content}, r.labelsOf(ctx))
		if err != nil || !matches || len(locks)+len(kept) == 0 {
			return err
		}
		found = append(found, Explanation{
			Policy: from.Policy, Warns: from.Warns, Locks: locks, Kept: kept,
			Holds: func(expression string) (bool, error) { return from.Rules.Holds(ctx, object, expression) },
		})
		return nil
	}
	if t := r.current.Load(); t != nil {
		if guarded := t.Resources[resource]; guarded != nil {
			for _, from := range guarded.Sources {
				if t.excluded(from.Policy, namespace) {
					continue
				}
				if err := add(from, from.Locks(object), nil); err != nil {
					return nil, err
				}
			}
		}
		for _, kept := range t.Kept[resource] {
			if t.excluded(kept.Policy, namespace) {
				continue
			}
			if err := add(kept.Source, nil, in(kept.Marks, of.Version)); err != nil {
				return nil, err
			}
		}
	}
	if crd := r.definition(resource); keepsObjects(crd) {
		kept := r.annotated.of(crd)
		return found, add(kept.Source, nil, in(kept.Marks, of.Version))
	}
	return found, nil
}

// in returns the marks that count in a version.
func in(marks []immutability.Mark, version string) []immutability.Mark {
	var out []immutability.Mark
	for _, m := range marks {
		if m.In(version) {
			out = append(out, m)
		}
	}
	return out
}
