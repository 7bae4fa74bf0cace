package immutability

import (
	"fmt"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// Hole is what a user does first to get around a promise; to set things anew is
// always the second step.
type Hole uint8

const (
	// OptionalField is a property that may be removed.
	OptionalField Hole = iota
	// NullableField is a property that may be set to null.
	NullableField
	// UntypedField is a property that may be set to a value of another type,
	// because its schema names none.
	UntypedField
	// MapKey is a key of a map that may be removed.
	MapKey
	// ListItem is an item of a list that may be removed.
	ListItem
)

// Escape is a way to change in two writes what a marker, or a CEL transition
// rule, is there to keep.
type Escape struct {
	// Field is what is meant to stay, and Promise how: the marker, or the one
	// that a rule amounts to.
	Field   *value.Path
	Promise Marker
	// Rule is the CEL rule that promises it, empty for a marker.
	Rule string
	// Parent is what is removed and set again: a node around Field or, for a
	// rule, which is not asked about what is absent, Field itself. For a MapKey
	// or ListItem it is the map or list that the key or item is removed from.
	Parent *value.Path
	Hole   Hole
	// Close is the marker on Parent that closes the hole.
	Close Marker
}

// String is the warning for a person.
func (e Escape) String() string {
	promise := e.Promise.String()
	if e.Rule != "" {
		promise = fmt.Sprintf("%s by the rule %s", e.Promise, brief(e.Rule))
	}
	parent := Field(e.Parent)
	advice := ""
	if e.Hole == OptionalField && e.Close == Immutable {
		advice = ", and so does making it required"
	}
	return fmt.Sprintf("%s: %s, but %s and then set again with another value; %s on %s closes this%s",
		Field(e.Field), promise, e.Hole.of(parent), e.Close.Keyword(), parent, advice)
}

// of says what can be done to the parent.
func (h Hole) of(parent string) string {
	switch h {
	case NullableField:
		return parent + " is nullable: it can be set to null"
	case UntypedField:
		return parent + " has no type: it can be set to a string"
	case MapKey:
		return "a key of " + parent + " can be removed"
	case ListItem:
		return "an item of " + parent + " can be removed"
	}
	return parent + " is optional: it can be removed"
}

// Escapes finds every promise of a schema that can be broken in two steps, in the
// order of the schema and, for one field, from the outermost parent in. Promises
// are markers, and CEL transition rules of the forms that are in use: a field
// that equals its old value, with or without has() around it, and keys or items
// that are all in the old or the new value. Rules count on the other side too: a
// hole that one of them closes is no escape. A rule that is not understood
// promises nothing and closes nothing.
//
// Maps and lists whose values are marked and whose keys are not let keys come
// and go; that is often what is wanted, and is found here all the same, as a
// MapKey or ListItem.
func Escapes(s *schema.Schema) []Escape {
	if s == nil {
		return nil
	}
	f := finder{reader: newRuleReader()}
	f.walk(&frame{Child: schema.Child{Schema: s}, rules: f.reader.read(s)})
	return f.found
}

// frame is a node on the way from the root to where the finder is.
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
	marker := Free
	if at.parent != nil {
		marker = effective(at.Schema)
	}
	if marker != Free {
		f.promise(at, marker, "")
	}
	// What an immutable node holds needs no other promise.
	if marker == Immutable {
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
		if at.parent == nil && child.Edge == schema.Property && isReserved(child.Name) {
			continue
		}
		f.walk(f.below(at, child))
	}
}

// resolve is the frame of what a rule at a frame promises; nil if the schema does
// not have it, or if a marker promises it already.
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
	if effective(at.Schema).covers(p.marker) {
		return nil
	}
	return at
}

// below is the frame of a child, nil if there is none or if at is immutable.
func (f *finder) below(at *frame, child schema.Child) *frame {
	if child.Schema == nil || at.parent != nil && effective(at.Schema) == Immutable {
		return nil
	}
	return &frame{Child: child, path: child.Path(at.path), parent: at, rules: f.reader.read(child.Schema)}
}
