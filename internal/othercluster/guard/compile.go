package guard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/definition"
)

// definitions is the resource of CustomResourceDefinitions.
func definitions() runtimeschema.GroupVersionResource {
	return runtimeschema.GroupVersionResource{Group: definition.GroupName, Version: definition.V1, Resource: "customresourcedefinitions"}
}

// compiler makes the table of rules. It reads definitions and schemas from the API server.
type compiler struct {
	server *connection.Connection
	// policiesOnly means that the API server enforces the rules in definitions itself.
	policiesOnly bool
}

// inputs are the sources of rules.
type inputs struct {
	// annotated are the names of the definitions with the annotation.
	annotated []string
	policies  []*ImmutabilityPolicy
}

// compile makes a table. It returns an error only if the API server does not answer: a source that is
// wrong has a problem in the table, and what is right in it counts.
func (c compiler) compile(ctx context.Context, in inputs) (*table, error) {
	t := newTable()
	read := map[string]*definition.CustomResourceDefinition{}
	if c.policiesOnly {
		in.annotated = nil
	}
	for _, name := range in.annotated {
		crd, err := c.definition(ctx, name, read)
		if err != nil {
			return nil, err
		}
		if crd == nil {
			continue
		}
		if problems := t.addAnnotated(crd); len(problems) > 0 {
			t.problems[name] = problems
		}
	}
	slices.SortFunc(in.policies, func(a, b *ImmutabilityPolicy) int { return cmp.Compare(a.Name, b.Name) })
	for _, policy := range in.policies {
		if err := c.addPolicy(ctx, t, policy, read); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(t.resources, func(_ runtimeschema.GroupResource, r *resource) bool { return len(r.names()) == 0 })
	return t, nil
}

// addPolicy adds the rules of a policy, and its report. The rules of each mode are a source.
func (c compiler) addPolicy(
	ctx context.Context, t *table, policy *ImmutabilityPolicy, read map[string]*definition.CustomResourceDefinition,
) error {
	said := report{generation: policy.Generation}
	defer func() { t.reports[policy.Name] = said }()
	selected, err := newMatch(policy)
	if err != nil {
		said.add(err.Error())
		return nil
	}
	for _, mode := range []string{Enforce, Warn} {
		marks, err := policy.marks(mode)
		if err != nil {
			said.add(err.Error())
		}
		from := source{policy: policy.Name, warns: mode == Warn, match: selected}
		for _, text := range policy.Spec.Resources {
			name := runtimeschema.ParseGroupResource(text)
			if len(marks) == 0 {
				continue
			}
			if Excluded(name) {
				said.add(text + ": " + neverGuarded)
				continue
			}
			crd, err := c.definition(ctx, name.String(), read)
			if err != nil {
				return err
			}
			var problems []string
			if crd != nil {
				problems = t.addDefinition(withMarks(crd, marks), c.served(crd, from))
			} else if problems, err = c.addPublished(ctx, t, name, marks, from); err != nil {
				return err
			}
			for _, problem := range problems {
				said.add(text + ": " + problem)
			}
			if t.resources[name].guardedBy(policy.Name) && !slices.Contains(said.matched, text) {
				said.matched = append(said.matched, text)
			}
		}
	}
	return nil
}

// definition reads a definition, nil if there is none.
func (c compiler) definition(
	ctx context.Context, name string, read map[string]*definition.CustomResourceDefinition,
) (*definition.CustomResourceDefinition, error) {
	if crd, known := read[name]; known {
		return crd, nil
	}
	obj, err := c.server.Dynamic.Resource(definitions()).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		read[name] = nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("definition %s: %w", name, err)
	}
	crd, err := decodeDefinition(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("definition %s: %w", name, err)
	}
	read[name] = crd
	return crd, nil
}
