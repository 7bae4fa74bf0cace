package immutability

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/schema"
)

// Marker says what may not change at a node. It is a set of constraints, which have the names of Kubernetes.
//
// A value is unset if it is absent or null, or if it is an empty list or map. Only for [Immutable] absent, null and empty
// are different values.
type Marker uint8

const (
	// NoSet forbids setting a value that is not set.
	NoSet Marker = 1 << iota
	// NoUnset forbids removing a value.
	NoUnset
	// NoModify forbids replacing a value by another one.
	NoModify
	// NoAddItem forbids adding keys of a map, or items of a list of type map or set.
	NoAddItem
	// NoRemoveItem forbids removing keys of a map, or items of a list of type map or set.
	NoRemoveItem
)

// Sets of constraints with a name.
const (
	// Free allows every change. In a schema it means that a node has no marker. In
	// [Declare] it excludes a part of a field that is immutable as a whole.
	Free Marker = 0
	// Immutable forbids every change in the subtree. A field that is absent stays
	// absent.
	Immutable = NoSet | NoUnset | NoModify
	// SetOnce allows setting a value that is not set, and forbids every change of it
	// from then on.
	SetOnce = NoUnset | NoModify
	// ImmutableKeys forbids adding and removing keys of a map or items of a list of
	// type map. The values may change.
	ImmutableKeys = NoAddItem | NoRemoveItem
	// AdditionOnly forbids removing keys of a map, or items of a list of type map or
	// set.
	AdditionOnly = NoRemoveItem
	// DeletionOnly forbids adding keys of a map, or items of a list of type map or
	// set.
	DeletionOnly = NoAddItem
)

// constraints are the names of the constraints, in the order of their bits.
var constraints = [...]string{"NoSet", "NoUnset", "NoModify", "NoAddItem", "NoRemoveItem"}

// named are the markers that have a word of their own in a rule.
var named = []struct {
	marker Marker
	word   string
}{
	{Immutable, "immutable"},
	{SetOnce, "set-once"},
	{NoSet, "no-set"},
	{NoUnset, "no-unset"},
	{NoModify, "no-modify"},
	{ImmutableKeys, "immutable-keys"},
	{AdditionOnly, "addition-only"},
	{DeletionOnly, "deletion-only"},
}

// flagged are the markers that have a keyword of their own, in the order in which they are reported.
var flagged = [...]Marker{Immutable, ImmutableKeys, AdditionOnly, DeletionOnly}

// String returns the marker in words, such as "addition only".
func (m Marker) String() string {
	if m == Free {
		return "free"
	}
	if keyword := m.Keyword(); keyword != schema.UpdateKeyword {
		return strings.ReplaceAll(m.Word(), "-", " ")
	}
	return m.Word()
}

// Word returns the marker as a rule names it: set-once, or update=NoSet,NoModify for a set without a name.
func (m Marker) Word() string {
	for _, each := range named {
		if each.marker == m {
			return each.word
		}
	}
	return "update=" + strings.Join(m.Constraints(), ",")
}

// sentence says the marker to a reader of the field's description.
func (m Marker) sentence() string {
	switch m {
	case Immutable:
		return "Immutable"
	case SetOnce:
		return "May be set once"
	case NoSet:
		return "Cannot be set later"
	case NoUnset:
		return "Cannot be removed"
	case NoModify:
		return "Cannot be replaced by another value"
	case ImmutableKeys:
		return "Keys are immutable"
	case AdditionOnly:
		return "Addition only"
	case DeletionOnly:
		return "Deletion only"
	}
	return "Update with " + strings.Join(m.Constraints(), ", ")
}

// Constraints returns the names of the constraints in the marker, as Kubernetes has them.
func (m Marker) Constraints() []string {
	var names []string
	for i, name := range constraints {
		if m&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// markerOfNames returns the set of the named constraints. wrong says why the names are no set.
func markerOfNames(names []string) (m Marker, wrong string) {
	if len(names) == 0 {
		return Free, "must name at least one constraint"
	}
	for _, name := range names {
		i := slices.Index(constraints[:], name)
		switch {
		case i < 0:
			return Free, "must be a set of " + strings.Join(constraints[:], ", ") + ", and has " + brief(name)
		case m&(1<<i) != 0:
			return Free, "has " + name + " twice"
		}
		m |= 1 << i
	}
	return m, ""
}

// Keyword returns the schema keyword of the marker, empty for Free.
func (m Marker) Keyword() string {
	switch m {
	case Free:
		return ""
	case Immutable:
		return schema.ImmutableKeyword
	case ImmutableKeys:
		return schema.ImmutableKeysKeyword
	case AdditionOnly:
		return schema.AdditionOnlyKeyword
	case DeletionOnly:
		return schema.DeletionOnlyKeyword
	}
	return schema.UpdateKeyword
}

// KeywordValue returns the value of the keyword in a schema, as JSON decoding gives it.
func (m Marker) KeywordValue() any {
	if m.Keyword() != schema.UpdateKeyword {
		return true
	}
	var names []any
	for _, name := range m.Constraints() {
		names = append(names, name)
	}
	return names
}

// written returns the marker as a schema has it, on one line.
func (m Marker) written() string {
	if m.Keyword() == schema.UpdateKeyword {
		return schema.UpdateKeyword + ": [" + strings.Join(m.Constraints(), ", ") + "]"
	}
	return m.Keyword()
}

// MarkerOf returns the marker of s, Free for none and for a nil schema. If a node
// has two, which [Validate] refuses, it returns the first in the order of the
// constants.
func MarkerOf(s *schema.Schema) Marker {
	if s == nil {
		return Free
	}
	for _, m := range flagged {
		if schema.IsTrue(m.flag(s)) {
			return m
		}
	}
	if s.Update == nil {
		return Free
	}
	m, _ := markerOfNames(s.Update)
	return m.reduced()
}

// reduced returns Immutable for a set that contains it: the other constraints forbid nothing more.
func (m Marker) reduced() Marker {
	if m.Covers(Immutable) {
		return Immutable
	}
	return m
}

// flag returns the value of the marker's own keyword on s, nil if it is absent.
func (m Marker) flag(s *schema.Schema) *bool {
	switch m {
	case Immutable:
		return s.Immutable
	case ImmutableKeys:
		return s.ImmutableKeys
	case AdditionOnly:
		return s.AdditionOnly
	case DeletionOnly:
		return s.DeletionOnly
	}
	return nil
}

// set puts the marker on a node.
func (m Marker) set(s *schema.Schema) {
	switch m {
	case Free:
	case Immutable:
		s.Immutable = new(true)
	case ImmutableKeys:
		s.ImmutableKeys = new(true)
	case AdditionOnly:
		s.AdditionOnly = new(true)
	case DeletionOnly:
		s.DeletionOnly = new(true)
	default:
		s.Update = m.Constraints()
	}
}

// Covers reports whether m forbids everything that other forbids. A key that comes or goes modifies a value that stays
// set, and sets or unsets it otherwise.
func (m Marker) Covers(other Marker) bool {
	if m&NoModify != 0 && m&NoSet != 0 {
		m |= NoAddItem
	}
	if m&NoModify != 0 && m&NoUnset != 0 {
		m |= NoRemoveItem
	}
	return other&^m == 0
}

// has reports whether the marker has one of the constraints.
func (m Marker) has(constraints Marker) bool { return m&constraints != 0 }
