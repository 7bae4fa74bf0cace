package policies

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/policy"
)

// Custom is an update of a custom resource.
type Custom struct {
	// Definition is the definition by which the server handles the write.
	Definition *definition.CustomResourceDefinition
	policy.Update
}

// CheckCustom returns the changes that policies forbid.
func (r *Rules) CheckCustom(ctx context.Context, c Custom) (refusal.Decision, error) {
	if r == nil {
		return refusal.Decision{}, nil
	}
	name := schema.GroupResource{Group: c.Definition.Spec.Group, Resource: c.Definition.Spec.Names.Plural}
	t := r.current.Load()
	if t == nil || t.Resources[name] == nil && !t.Missing[name] {
		return refusal.Decision{}, nil
	}
	if !t.knows(name, c.Definition) {
		// The definition was created or changed a moment ago.
		var err error
		if t, err = r.await(ctx, func(t *table) bool { return t.knows(name, c.Definition) }); err != nil {
			return refusal.Decision{}, errors.Join(err, errStale)
		}
		if t.Resources[name] == nil {
			return refusal.Decision{}, nil
		}
	}
	return r.check(ctx, t, name, &c.Update)
}

// knows reports whether the rules of a resource are compiled for a definition.
func (t *table) knows(name schema.GroupResource, crd *definition.CustomResourceDefinition) bool {
	if t.Missing[name] {
		return false
	}
	guarded := t.Resources[name]
	if guarded == nil {
		return true
	}
	for _, from := range guarded.Sources {
		defined, ok := from.Rules.(policy.DefinedRules)
		if !ok || defined.CRD.UID != crd.UID || defined.CRD.Generation < crd.Generation {
			return false
		}
	}
	return true
}
