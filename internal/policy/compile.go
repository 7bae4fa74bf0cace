package policy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/definition"
)

// Compiler makes the table of rules. It reads definitions and schemas from the API server.
type Compiler struct {
	Server Server
	// PoliciesOnly means that the API server enforces the rules in definitions itself.
	PoliciesOnly bool
	// Exclude are resources that are not guarded, besides those of Excluded.
	Exclude []runtimeschema.GroupResource
	// Excluded reports whether the resource of a policy is never guarded. If it is nil, the function Excluded does.
	Excluded func(policy *ImmutabilityPolicy, resource runtimeschema.GroupResource) bool
}

// Inputs are the sources of rules.
type Inputs struct {
	// Annotated are the names of the definitions with the annotation.
	Annotated []string
	Policies  []*ImmutabilityPolicy
}

// Add adds a policy. The API server validates policies, so one that cannot be decoded is left out.
func (in *Inputs) Add(obj *unstructured.Unstructured) {
	found, err := Decode(obj)
	if err != nil {
		klog.ErrorS(err, "policy without effect")
		return
	}
	in.Policies = append(in.Policies, found)
}

// Compile makes a table. It returns an error only if the API server does not answer: a source that is
// wrong has a problem in the table, and what is right in it counts.
func (c Compiler) Compile(ctx context.Context, in Inputs) (*Table, error) {
	t := NewTable()
	read := map[string]*definition.CustomResourceDefinition{}
	if c.PoliciesOnly {
		in.Annotated = nil
	}
	for _, name := range in.Annotated {
		crd, err := c.definition(ctx, name, read)
		if err != nil {
			return nil, err
		}
		if crd == nil {
			continue
		}
		if problems := c.AddAnnotated(t, crd); len(problems) > 0 {
			t.Problems[name] = problems
		}
	}
	slices.SortFunc(in.Policies, func(a, b *ImmutabilityPolicy) int { return cmp.Compare(a.Name, b.Name) })
	for _, policy := range in.Policies {
		if err := c.addPolicy(ctx, t, policy, read); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(t.Resources, func(_ runtimeschema.GroupResource, r *Resource) bool { return len(r.Names()) == 0 })
	return t, nil
}

// addPolicy adds the rules of a policy, and its report. The rules of each mode are a source.
func (c Compiler) addPolicy(
	ctx context.Context, t *Table, policy *ImmutabilityPolicy, read map[string]*definition.CustomResourceDefinition,
) error {
	said := Report{Generation: policy.Generation, UID: policy.UID}
	defer func() { t.Reports[policy.Name] = said }()
	selected, err := NewMatch(policy)
	if err != nil {
		said.add(err.Error())
		return nil
	}
	for _, mode := range []string{Enforce, Warn} {
		marks, wrong := policy.marks(mode)
		for _, err := range wrong {
			said.add(err.Error())
		}
		from := Source{Policy: policy.Name, Warns: mode == Warn, Match: selected}
		for _, text := range policy.Spec.Resources {
			name := runtimeschema.ParseGroupResource(text)
			if len(marks) == 0 {
				continue
			}
			if reason := c.excludes(policy, name); reason != "" {
				said.add(text + ": " + reason)
				continue
			}
			crd, err := c.definition(ctx, name.String(), read)
			if err != nil {
				return err
			}
			var problems, notes []string
			if crd != nil {
				problems = t.addDefinition(withMarks(crd, marks), c.served(crd, from))
			} else if problems, notes, err = c.addPublished(ctx, t, name, marks, from); err != nil {
				return err
			}
			for _, problem := range problems {
				said.add(text + ": " + problem)
			}
			for _, note := range notes {
				said.note(text + ": " + note)
			}
			if (t.Resources[name].guardedBy(policy.Name) || t.keepsFor(name, policy.Name)) && !slices.Contains(said.Matched, text) {
				said.Matched = append(said.Matched, text)
			}
		}
	}
	return nil
}

// excludes returns why a resource is not guarded, the empty text if it may be. The policy is nil for the rules of a definition.
func (c Compiler) excludes(policy *ImmutabilityPolicy, name runtimeschema.GroupResource) string {
	never := Excluded(name)
	if c.Excluded != nil && policy != nil {
		never = c.Excluded(policy, name)
	}
	switch {
	case never:
		return "this resource is never guarded"
	case slices.Contains(c.Exclude, name):
		return "the guard is configured not to guard this resource"
	}
	return ""
}

// definition reads a definition, nil if there is none.
func (c Compiler) definition(
	ctx context.Context, name string, read map[string]*definition.CustomResourceDefinition,
) (*definition.CustomResourceDefinition, error) {
	if crd, known := read[name]; known {
		return crd, nil
	}
	crd, err := c.Server.Definition(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("definition %s: %w", name, err)
	}
	read[name] = crd
	return crd, nil
}
