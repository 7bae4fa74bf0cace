package change

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// protection is all rules of one version. The rules that always hold are markers of its schema, whether a keyword or the annotation
// states them.
type protection struct {
	schema *schema.Schema
	// marks are the rules that no marker can state: those with a condition, those about metadata, and no-delete.
	marks []immutability.Mark
}

// protectionOf returns the rules of a version. The error is that of DecodeSchema.
func protectionOf(crd *definition.CustomResourceDefinition, v *definition.CustomResourceDefinitionVersion) (protection, error) {
	s, _, err := v.DecodeSchema()
	if err != nil {
		return protection{}, err
	}
	marks, _ := crd.Marks()
	marked := immutability.AddMarks(s, v.Name, marks)
	p := protection{schema: marked.Schema}
	for _, m := range marked.Layers {
		if m.IsConditional() || m.IsMetadata() {
			p.marks = append(p.marks, m)
			continue
		}
		// Two rules that always hold are one set of constraints.
		node := m.SchemaNode(s)
		m.Marker |= immutability.MarkerOf(node)
		node.Immutable, node.ImmutableKeys, node.AdditionOnly, node.DeletionOnly, node.Update = nil, nil, nil, nil, nil
		m.AddTo(s)
	}
	for _, m := range marks {
		if m.IsNoDelete() && m.In(v.Name) {
			p.marks = append(p.marks, m)
		}
	}
	return p, nil
}

// at returns the rules for exactly the field of a mark, or for the deletion if the mark is no-delete.
func (p protection) at(m immutability.Mark) []immutability.Mark {
	var found []immutability.Mark
	if always := p.always(m); always != immutability.Free {
		found = append(found, immutability.Mark{Path: m.Path, Marker: always})
	}
	for _, other := range p.marks {
		if isAbout(other, m) {
			other.Versions = nil // each version is compared by itself
			found = append(found, other)
		}
	}
	return found
}

// isAbout reports whether two rules are about the same field, or both about the deletion.
func isAbout(m, other immutability.Mark) bool {
	return m.IsNoDelete() == other.IsNoDelete() && m.Path.Equal(other.Path)
}

// always returns what the markers of the schema forbid at the field of a mark. A field below an immutable one is immutable.
func (p protection) always(m immutability.Mark) immutability.Marker {
	if m.IsNoDelete() || m.IsMetadata() {
		return immutability.Free
	}
	for above := m.Path.Parent(); above != nil; above = above.Parent() {
		node := immutability.Mark{Path: above, Marker: m.Marker}.SchemaNode(p.schema)
		if immutability.MarkerOf(node) == immutability.Immutable {
			return immutability.Immutable
		}
	}
	return immutability.MarkerOf(m.SchemaNode(p.schema))
}

// forbids reports whether the rules forbid every write that m forbids. A rule counts if it holds whenever m holds, and if every user
// that may break it may break m.
func (p protection) forbids(m immutability.Mark) bool {
	union := p.always(m)
	for _, other := range p.marks {
		if other.Unless != "" && other.Unless != m.Unless || other.While != "" && other.While != m.While {
			continue
		}
		switch {
		case m.IsNoDelete():
			if other.IsNoDelete() {
				return true
			}
		case other.IsNoDelete():
		case other.Path.Equal(m.Path):
			union |= other.Marker
		case other.Marker == immutability.Immutable && isAbove(other.Path, m.Path):
			return true
		}
	}
	return !m.IsNoDelete() && union.Covers(m.Marker)
}

// isAbove reports whether a path leads to another one.
func isAbove(path, below *value.Path) bool {
	for above := below.Parent(); above != nil; above = above.Parent() {
		if above.Equal(path) {
			return true
		}
	}
	return false
}

// has reports whether the objects of the version can have what a rule is about.
func (p protection) has(m immutability.Mark) bool {
	return m.IsNoDelete() || m.IsMetadata() || m.SchemaNode(p.schema) != nil
}

// subjects returns one mark for each field, and one for the deletion, that marks of one of two versions are about.
func subjects(old, updated protection) []immutability.Mark {
	var found []immutability.Mark
	for _, m := range slices.Concat(old.marks, updated.marks) {
		known := func(other immutability.Mark) bool { return isAbout(other, m) }
		if old.has(m) && updated.has(m) && !slices.ContainsFunc(found, known) {
			found = append(found, m)
		}
	}
	return found
}

// words returns rules without their field: immutable unless resize.
func words(marks []immutability.Mark) string {
	if len(marks) == 0 {
		return immutability.Free.String()
	}
	texts := make([]string, len(marks))
	for i, m := range marks {
		texts[i] = m.Marker.String()
		if m.IsNoDelete() {
			texts[i] = m.String()
			continue
		}
		if m.Unless != "" {
			texts[i] += " unless " + m.Unless
		}
		if m.While != "" {
			texts[i] += " while " + m.While
		}
	}
	return strings.Join(texts, " and ")
}
