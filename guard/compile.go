package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/connection"
	"holdfast.dev/holdfast/definition"
	"holdfast.dev/holdfast/immutability"
)

// definitions is the resource of CustomResourceDefinitions.
func definitions() runtimeschema.GroupVersionResource {
	return runtimeschema.GroupVersionResource{Group: definition.GroupName, Version: definition.V1, Resource: "customresourcedefinitions"}
}

// compiler makes the table of rules. It reads definitions and schemas from the API server.
type compiler struct{ server *connection.Connection }

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
	for _, name := range in.annotated {
		crd, err := c.definition(ctx, name, read)
		if err != nil {
			return nil, err
		}
		if crd == nil {
			continue
		}
		if err := t.addDefinition(crd, source{}); err != nil {
			t.problems = append(t.problems, fmt.Sprintf("definition %s: %v", name, err))
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
		said.add(err)
		return nil
	}
	for _, mode := range []string{Enforce, Warn} {
		marks, err := policy.marks(mode)
		said.add(err)
		if len(marks) == 0 {
			continue
		}
		from := source{policy: policy.Name, warns: mode == Warn, match: selected}
		for _, text := range policy.Spec.Resources {
			name := runtimeschema.ParseGroupResource(text)
			if Excluded(name) {
				said.add(fmt.Errorf("%s: this resource is never guarded", text))
				continue
			}
			crd, err := c.definition(ctx, name.String(), read)
			if err != nil {
				return err
			}
			if crd != nil {
				crd = crd.DeepCopy()
				crd.Annotations = map[string]string{immutability.Annotation: policy.text(mode)}
				err = t.addDefinition(crd, from)
			} else {
				err = c.addPublished(ctx, t, name, marks, from)
			}
			var unavailable unavailableError
			if errors.As(err, &unavailable) {
				return err
			}
			if err != nil {
				said.add(fmt.Errorf("%s: %w", text, err))
			}
			if r := t.resources[name]; r != nil && len(r.names()) > 0 && !slices.Contains(said.matched, text) {
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

// addDefinition adds the rules in the annotation of a definition. The error is about rules without
// effect; the others are added.
func (t *table) addDefinition(crd *definition.CustomResourceDefinition, from source) error {
	compiled, err := definition.Compile(crd)
	if err != nil {
		return err
	}
	marks, _ := crd.Marks()
	name := runtimeschema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
	r := t.resource(name, runtimeschema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind})
	r.versions = []string{"*"}
	err = crd.AnnotationErrors().ToAggregate()
	if !crd.Spec.ConvertsNothing() {
		one, differ := convertedVersion(crd, compiled)
		r.versions = []string{one}
		if differ {
			err = errors.Join(err, fmt.Errorf("its versions have different markers and a conversion webhook: only those of %s count", one))
		}
	}
	for i := range crd.Spec.Versions {
		v := compiled[crd.Spec.Versions[i].Name]
		e := endpoints{hasStatus: v.HasStatus()}
		if scale := v.Scale(); scale != nil {
			e.replicas = fieldsOf(scale.SpecReplicasPath)
		}
		r.add(marks, v.Kind.Version, e)
	}
	from.rules = definedRules{crd: crd, compiled: compiled}
	r.sources = append(r.sources, from)
	return err
}

// convertedVersion returns the version to which the API server converts objects of a definition with a
// conversion webhook: the storage version, or the first with markers. differ is true if other versions
// have other markers.
func convertedVersion(crd *definition.CustomResourceDefinition, compiled map[string]*definition.Compiled) (name string, differ bool) {
	name = crd.Spec.StorageVersion()
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if chosen := crd.Spec.Version(name); v.Served && compiled[v.Name].Policy != nil && (!chosen.Served || compiled[name].Policy == nil) {
			name = v.Name
		}
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		differ = differ || v.Served && !compiled[v.Name].Policy.Equal(compiled[name].Policy)
	}
	return name, differ
}
