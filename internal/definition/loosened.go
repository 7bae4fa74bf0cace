package definition

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// loosened returns a warning for each rule of the stored definition that the write removes or weakens: markers of schemas, then lines of
// the annotation. A rule of a version that is neither served nor stored any more counts as removed. outdated are the lines that the
// annotation still has for such versions.
func (w Write) loosened(crd *CustomResourceDefinition, versions []readVersion) (warnings []string, outdated []immutability.Mark) {
	if w.Old == nil {
		return nil, nil
	}
	old := ownSchemas(w.Old)
	for i := range versions {
		r := &versions[i]
		for _, weakened := range immutability.Weakened(old[r.name], r.schema) {
			warnings = append(warnings, inVersion(crd, r.name, weakened.String()))
		}
	}
	after := rulesInUse{crd: crd, versions: versions}
	after.marks, _ = crd.Marks()
	for _, version := range retiredVersions(w.Old, crd) {
		for _, m := range after.retired(version, old[version]) {
			warnings = append(warnings, RetiredRule{Mark: m, Version: version}.String())
		}
	}
	before, _ := w.Old.Marks()
	for _, m := range before {
		lost := slices.DeleteFunc(inForce(w.Old, old, m), func(version string) bool { return after.keep(m, version) })
		switch {
		case len(lost) == 0:
		case contains(after.marks, m):
			outdated = append(outdated, m)
			warnings = append(warnings, fmt.Sprintf("%s: the rule %q forbids nothing from now on, because the definition neither serves nor stores %s any more",
				annotationPath(), m, strings.Join(lost, ", ")))
		default:
			warnings = append(warnings, fmt.Sprintf("%s: %s", annotationPath(), after.became(before, m)))
		}
	}
	return warnings, outdated
}

// RetiredRule is a rule of a version that a definition neither serves nor stores any more, so that the rule forbids nothing.
type RetiredRule struct {
	immutability.Mark
	Version string
	// Annotated says that a line of the annotation states the rule, and not a marker of the schema.
	Annotated bool
}

// String returns the rule for a message.
func (r RetiredRule) String() string {
	const reason = "forbids nothing from now on, because the definition neither serves nor stores"
	if r.Annotated {
		return fmt.Sprintf("the rule %q %s %s any more", r.Mark, reason, r.Version)
	}
	return fmt.Sprintf("%s: %s of version %s %s the version any more", r.Path, r.Marker.Keyword(), r.Version, reason)
}

// RetiredRules returns the rules that go with versions which a change of a definition removes or no longer serves. It leaves out rules that
// another version still has.
func RetiredRules(old, crd *CustomResourceDefinition) []RetiredRule {
	versions := retiredVersions(old, crd)
	if len(versions) == 0 {
		return nil
	}
	var rules []RetiredRule
	schemas := ownSchemas(old)
	before, _ := old.Marks()
	after := rulesInUse{crd: crd, versions: decodeVersions(crd)}
	after.marks, _ = crd.Marks()
	for _, version := range versions {
		for _, m := range after.retired(version, schemas[version]) {
			rules = append(rules, RetiredRule{Mark: m, Version: version})
		}
		for _, m := range before {
			if m.In(version) && hasTarget(schemas[version], m) && !after.keep(m, version) {
				rules = append(rules, RetiredRule{Mark: m, Version: version, Annotated: true})
			}
		}
	}
	return rules
}

// retiredVersions returns the versions that a definition served or stored, and no longer does.
func retiredVersions(old, crd *CustomResourceDefinition) []string {
	var versions []string
	for i := range old.Spec.Versions {
		if name := old.Spec.Versions[i].Name; inUse(old, name) && !inUse(crd, name) {
			versions = append(versions, name)
		}
	}
	return versions
}

// ownSchemas returns the schemas of a definition without the marks of the annotation, by version.
func ownSchemas(crd *CustomResourceDefinition) map[string]*schema.Schema {
	out := map[string]*schema.Schema{}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if s, _, err := v.DecodeSchema(); err == nil {
			out[v.Name] = s
		}
	}
	return out
}

// UnusedMarks returns the rules of the annotation that forbid nothing, because the definition neither serves nor stores a version that
// has them.
func (in *CustomResourceDefinition) UnusedMarks() []immutability.Mark {
	marks, _ := in.Marks()
	if len(marks) == 0 {
		return nil
	}
	schemas := ownSchemas(in)
	return slices.DeleteFunc(marks, func(m immutability.Mark) bool { return len(inForce(in, schemas, m)) > 0 })
}

// inForce returns the versions in use in which a definition with these schemas has a rule.
func inForce(crd *CustomResourceDefinition, schemas map[string]*schema.Schema, m immutability.Mark) []string {
	var versions []string
	for i := range crd.Spec.Versions {
		if name := crd.Spec.Versions[i].Name; inUse(crd, name) && m.In(name) && hasTarget(schemas[name], m) {
			versions = append(versions, name)
		}
	}
	return versions
}

// hasTarget reports whether a schema has the field of a rule. All have labels, annotations, and the object itself.
func hasTarget(s *schema.Schema, m immutability.Mark) bool {
	return m.IsNoDelete() || m.IsMetadata() || m.SchemaNode(s) != nil
}

// rulesInUse are the rules of a definition in the versions that it serves or stores. The rules of other versions forbid nothing.
type rulesInUse struct {
	crd *CustomResourceDefinition
	// versions have the schemas with the marks of the annotation.
	versions []readVersion
	marks    []immutability.Mark
}

// retired returns the markers of a version that is no longer in use, if their field is still there and may change.
func (r rulesInUse) retired(version string, own *schema.Schema) []immutability.Mark {
	marks, _ := immutability.Marks([]immutability.Version{{Name: version, Schema: own}})
	return slices.DeleteFunc(marks, func(m immutability.Mark) bool {
		isThere := slices.ContainsFunc(r.versions, func(v readVersion) bool { return inUse(r.crd, v.name) && hasTarget(v.schema, m) })
		return !isThere || r.forbid(m, "")
	})
}

// keep reports whether the rules forbid all that a rule forbade in a version. A field that the version no longer has needs no rule.
func (r rulesInUse) keep(m immutability.Mark, version string) bool {
	anywhere := r.forbid(m, "")
	if !inUse(r.crd, version) || anywhere && r.crd.Spec.ConvertsNothing() { // without conversion, all versions have the same paths
		return anywhere
	}
	at := slices.IndexFunc(r.versions, func(v readVersion) bool { return v.name == version })
	return !hasTarget(r.versions[at].schema, m) || r.forbid(m, version)
}

// forbid reports whether the rules of a version forbid all that another rule forbids. If version is empty, it asks for any version in
// use: the server checks a write in all of them.
func (r rulesInUse) forbid(m immutability.Mark, version string) bool {
	m.Versions = nil
	return slices.ContainsFunc(r.versions, func(v readVersion) bool {
		if version != "" && v.name != version || !inUse(r.crd, v.name) {
			return false
		}
		return m.CoveredBy(v.schema) || slices.ContainsFunc(r.marks, func(other immutability.Mark) bool {
			counts := other.In(v.name) && hasTarget(v.schema, other)
			other.Versions = nil
			return counts && other.Covers(m)
		})
	})
}

// became says what became of a line that is no longer in the annotation. before are all lines that it had.
func (r rulesInUse) became(before []immutability.Mark, m immutability.Mark) string {
	var found *immutability.Mark
	for i := range r.marks {
		other := &r.marks[i]
		if contains(before, *other) || other.IsNoDelete() != m.IsNoDelete() || !other.Path.Equal(m.Path) {
			continue
		}
		always, otherAlways := m, *other
		always.While, otherAlways.While = "", ""
		if m.While != "" && other.While != "" && always.String() == otherAlways.String() {
			return fmt.Sprintf("the condition of the rule %q changed from %q to %q", always, m.While, other.While)
		}
		found = other
	}
	if found == nil {
		return fmt.Sprintf("the rule %q is gone, so it forbids nothing from now on", m)
	}
	return fmt.Sprintf("the rule %q became %q, which allows what it forbade", m, found)
}
