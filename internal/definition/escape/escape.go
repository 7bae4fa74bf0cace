package escape

import (
	"fmt"
	"slices"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// Hole is the first of the two writes of an escape. The second write always sets
// the value again.
type Hole uint8

const (
	// OptionalField removes a property that is not required.
	OptionalField Hole = iota
	// NullableField sets a nullable property to null.
	NullableField
	// EmptyField sets a list or map to an empty one, which counts as unset.
	EmptyField
	// UntypedField sets a property to a value of another type. The schema of the
	// property has no type.
	UntypedField
	// MapKey removes a key of a map.
	MapKey
	// ListItem removes an item of a list.
	ListItem
)

// Escape is a way to change a field in two writes although a marker or a CEL
// transition rule forbids the change in one write.
type Escape struct {
	// Field is the field that should not change. Promise is its marker, or the
	// marker that says the same as the rule.
	Field   *value.Path
	Promise immutability.Marker
	// Rule is the text of the CEL rule, empty for a marker.
	Rule string
	// Parent is the field that is removed and set again: one above Field or Field itself.
	// It is Field itself for a rule, because CEL does not run transition rules for absent
	// values, and for the marker no-modify, which allows to unset and to set a value. For a
	// MapKey or ListItem it is the map or list.
	Parent *value.Path
	Hole   Hole
	// Close is the marker on Parent that prevents the escape.
	Close immutability.Marker

	// For Fixes.
	field, parent *frame
	reader        ruleReader
}

// String returns the text of the warning.
func (e Escape) String() string {
	if e.ofStatus() {
		return fmt.Sprintf("%s: %s; the rule %s at the root closes this", immutability.Field(e.Field), e.Problem(), keepStatus)
	}
	advice := ""
	if e.canRequire() {
		advice = ", and so does making it required"
	}
	closer := e.Close.Keyword()
	if closer == schema.UpdateKeyword {
		closer = e.Close.Word()
	}
	return fmt.Sprintf("%s: %s; %s on %s closes this%s",
		immutability.Field(e.Field), e.Problem(), closer, immutability.Field(e.Parent), advice)
}

// Problem describes the two writes.
func (e Escape) Problem() string {
	promise := e.Promise.String()
	if e.Rule != "" {
		promise = fmt.Sprintf("%s by the rule %s", e.Promise, value.Printer{LiteralHTML: true}.Print(e.Rule))
	}
	return fmt.Sprintf("%s, but %s and then set again with another value", promise, e.Hole.of(immutability.Field(e.Parent)))
}

// Line returns the rule of a policy that closes the escape. A parent that cannot be unset needs no stricter rule.
func (e Escape) Line() string {
	closer := e.Close
	if closer == immutability.Immutable && (e.Hole == OptionalField || e.Hole == NullableField) {
		closer = immutability.NoUnset
	}
	return closer.Word() + " " + immutability.Field(e.Parent)
}

// keepStatus is a CEL rule that forbids removing the status.
const keepStatus = `"!has(oldSelf.status) || has(self.status)"`

// ofStatus reports whether the parent is the status. No object has it when it is created, so an
// immutable status could never be set, and with a required one no object could be created.
func (e Escape) ofStatus() bool {
	return e.canRequire() && immutability.Field(e.Parent) == "status"
}

// canRequire reports whether a required parent closes the escape too, if it is the only one.
func (e Escape) canRequire() bool {
	return e.Hole == OptionalField && e.Close == immutability.Immutable
}

// of describes the first write to the parent.
func (h Hole) of(parent string) string {
	switch h {
	case NullableField:
		return parent + " is nullable: it can be set to null"
	case EmptyField:
		return parent + " can be emptied"
	case UntypedField:
		return parent + " has no type: it can be set to a string"
	case MapKey:
		return "a key of " + parent + " can be removed"
	case ListItem:
		return "an item of " + parent + " can be removed"
	}
	return parent + " is optional: it can be removed"
}

// Find returns every escape of a schema, in the order of the schema and, for
// one field, from the outermost parent to the innermost. It knows markers and the
// usual forms of CEL transition rules: a field equals its old value, with or
// without has(), and all keys or items of the old value are in the new one, or
// the other way round. A rule can also prevent an escape. Rules of other forms are
// ignored.
//
// If the values of a map or the items of a list are marked but its keys are not,
// keys can be removed and added again. That is often intended; it is returned as a
// MapKey or ListItem nevertheless.
func Find(s *schema.Schema) []Escape {
	if s == nil {
		return nil
	}
	f := finder{reader: ruleReader{}}
	f.walk(&frame{Child: schema.Child{Schema: s}, rules: f.reader.read(s)})
	return f.found
}

// FindMark returns the escapes of a rule of the annotation that is judged by itself, such as one with a condition.
// It returns nothing if the schema does not have the field.
func FindMark(s *schema.Schema, m immutability.Mark) []Escape {
	if m.SchemaNode(s) == nil {
		return nil
	}
	f := finder{reader: ruleReader{}}
	at := &frame{Child: schema.Child{Schema: s}, rules: f.reader.read(s)}
	for _, step := range m.Path.Steps() {
		child := schema.Child{Schema: at.Schema.Properties[step.Name], Edge: schema.Property, Name: step.Name}
		switch step.Kind {
		case value.AnyName:
			child = schema.Child{Schema: at.Schema.AdditionalProperties.Schema, Edge: schema.AdditionalProperty}
		case value.AnyItem:
			child = schema.Child{Schema: at.Schema.Items, Edge: schema.Item}
		}
		if at = f.below(at, child); at == nil {
			return nil
		}
	}
	f.promise(at, m.Marker, "")
	return f.found
}

// unmarked are the fields of every object, which have no markers.
var unmarked = []string{"apiVersion", "kind", "metadata"}

// frame is a node on the path from the root to the node that the finder visits.
type frame struct {
	schema.Child
	path   *value.Path
	parent *frame
	rules  []rule
}

type finder struct {
	reader ruleReader
	found  []Escape
}

func (f *finder) walk(at *frame) {
	marker := immutability.Free
	if at.parent != nil {
		marker = immutability.Effective(at.Schema)
	}
	if marker != immutability.Free {
		f.promise(at, marker, "")
	}
	// Nodes below an immutable node need no marker or rule.
	if marker == immutability.Immutable {
		return
	}
	for _, r := range at.rules {
		for _, p := range r.promises() {
			if target := f.resolve(at, p); target != nil {
				f.promise(target, p.marker, r.text)
			}
		}
	}
	for child := range at.Schema.Children() {
		if child.Edge > schema.AdditionalItem {
			break
		}
		if at.parent == nil && child.Edge == schema.Property && slices.Contains(unmarked, child.Name) {
			continue
		}
		f.walk(f.below(at, child))
	}
}

// resolve returns the frame of the field that a rule at a frame protects. It
// returns nil if the schema does not have the field, or a marker protects it too.
func (f *finder) resolve(at *frame, p promise) *frame {
	for _, name := range p.path {
		child := schema.Child{Schema: at.Schema.Properties[name], Edge: schema.Property, Name: name}
		if at = f.below(at, child); at == nil {
			return nil
		}
	}
	if p.values {
		if at.Schema.AdditionalProperties == nil {
			return nil
		}
		child := schema.Child{Schema: at.Schema.AdditionalProperties.Schema, Edge: schema.AdditionalProperty}
		if at = f.below(at, child); at == nil {
			return nil
		}
	}
	if immutability.Effective(at.Schema).Covers(p.marker) {
		return nil
	}
	return at
}

// below returns the frame of a child, nil if there is none or if the parent, at, is
// immutable.
func (f *finder) below(at *frame, child schema.Child) *frame {
	if child.Schema == nil || at.parent != nil && immutability.Effective(at.Schema) == immutability.Immutable {
		return nil
	}
	return &frame{Child: child, path: child.Path(at.path), parent: at, rules: f.reader.read(child.Schema)}
}
