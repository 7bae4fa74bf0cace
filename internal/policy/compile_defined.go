package policy

import (
	"fmt"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
)

// withMarks returns a copy of a definition whose annotation has marks. The copy shares its spec with the definition.
func withMarks(crd *definition.CustomResourceDefinition, marks []immutability.Mark) *definition.CustomResourceDefinition {
	out := *crd
	out.Annotations = map[string]string{immutability.Annotation: immutability.FormatMarks(marks)}
	return &out
}

// served returns the source with the rules that the API server enforces itself.
func (c Compiler) served(crd *definition.CustomResourceDefinition, from Source) Source {
	if !c.PoliciesOnly {
		return from
	}
	if compiled, err := definition.CompileForReads(crd); err == nil {
		from.server = &DefinedRules{CRD: crd, compiled: compiled}
	}
	return from
}

// AddAnnotated adds the rules in the annotation of a definition to a table. It returns why some have no effect.
func (c Compiler) AddAnnotated(t *Table, crd *definition.CustomResourceDefinition) []string {
	if reason := c.excludes(nil, nameOf(crd)); reason != "" {
		return []string{reason}
	}
	return t.addDefinition(crd, Source{})
}

func nameOf(crd *definition.CustomResourceDefinition) runtimeschema.GroupResource {
	return runtimeschema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
}

// addDefinition adds rules for a custom resource: those in the annotation of its definition, or in a copy of it. A rule that our
// server refuses has no effect. addDefinition returns the reasons of such rules, in the words of the server.
func (t *Table) addDefinition(crd *definition.CustomResourceDefinition, from Source) []string {
	var problems []string
	for _, e := range crd.AnnotationErrors() {
		if from.Policy == "" {
			problems = append(problems, e.Error())
		} else {
			problems = append(problems, e.Detail) // the field is in the annotation, which a policy does not have
		}
	}
	crd = crd.WithValidMarks()
	for _, m := range crd.UnusedMarks() {
		problems = append(problems, m.String()+": the definition neither serves nor stores a version with this rule")
	}
	marks, _ := crd.Marks()
	if len(marks) == 0 {
		return problems
	}
	compiled, err := definition.CompileForReads(crd)
	if err != nil {
		return append(problems, err.Error())
	}
	r := t.resource(nameOf(crd), runtimeschema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind})
	r.Versions = []string{"*"}
	if !crd.Spec.ConvertsNothing() {
		one, differ := convertedVersion(crd, compiled)
		r.Versions = []string{one}
		if differ {
			problems = append(problems, fmt.Sprintf("its versions have different markers and a conversion webhook: only those of %s count", one))
		}
	}
	for i := range crd.Spec.Versions {
		v := compiled[crd.Spec.Versions[i].Name]
		e := Endpoints{HasStatus: v.HasStatus()}
		if scale := v.Scale(); scale != nil {
			e.Replicas = FieldsOf(scale.SpecReplicasPath)
		}
		r.add(marks, v.Kind.Version, e)
	}
	if from.Match.HasObjectSelector() {
		r.addRelabelling(Endpoints{})
	}
	from.Rules = DefinedRules{CRD: crd, compiled: compiled, server: from.server}
	t.keep(nameOf(crd), from, marks, r.Versions)
	r.Sources = append(r.Sources, from)
	return problems
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
