package immutability

import "holdfast.dev/holdfast/schema"

// Marker is what may not change at a node.
type Marker uint8

const (
	// Free promises nothing. In [Declare] it frees a part of what is immutable
	// around it; in a schema it is a node without a marker.
	Free Marker = iota
	// Immutable keeps the whole subtree as it is, absence included.
	Immutable
	// ImmutableKeys keeps the set of keys of a map, or of a list of type map;
	// the values may change.
	ImmutableKeys
	// AdditionOnly lets keys (items of a list of type map or set) come, not go.
	AdditionOnly
	// DeletionOnly lets keys (items of a list of type map or set) go, not come.
	DeletionOnly
)

// markers are the four, in the order in which they are reported.
var markers = [...]Marker{Immutable, ImmutableKeys, AdditionOnly, DeletionOnly}

// String is the marker in words, "addition only".
func (m Marker) String() string {
	switch m {
	case Immutable:
		return "immutable"
	case ImmutableKeys:
		return "immutable keys"
	case AdditionOnly:
		return "addition only"
	case DeletionOnly:
		return "deletion only"
	}
	return "free"
}

// Keyword is the marker as a schema spells it, empty for Free.
func (m Marker) Keyword() string {
	switch m {
	case Immutable:
		return schema.ImmutableKeyword
	case ImmutableKeys:
		return schema.ImmutableKeysKeyword
	case AdditionOnly:
		return schema.AdditionOnlyKeyword
	case DeletionOnly:
		return schema.DeletionOnlyKeyword
	}
	return ""
}

// MarkerOf is the marker that s carries, Free for none or for a nil schema. A
// node with two, which [Validate] refuses, counts by the first in the order of
// the constants.
func MarkerOf(s *schema.Schema) Marker {
	if s == nil {
		return Free
	}
	for _, m := range markers {
		if schema.IsTrue(m.flag(s)) {
			return m
		}
	}
	return Free
}

// flag is the keyword's value on s: nil when absent.
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

// covers says whether whatever other forbids at a node, m forbids too.
func (m Marker) covers(other Marker) bool {
	switch {
	case m == other || other == Free || m == Immutable:
		return true
	case m == ImmutableKeys:
		return other == AdditionOnly || other == DeletionOnly
	}
	return false
}

// forbidsAdding and forbidsRemoving judge a key on one side only.
func (m Marker) forbidsAdding() bool {
	return m == ImmutableKeys || m == DeletionOnly || m == Immutable
}

func (m Marker) forbidsRemoving() bool {
	return m == ImmutableKeys || m == AdditionOnly || m == Immutable
}
