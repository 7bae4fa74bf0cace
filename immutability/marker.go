package immutability

import "holdfast.dev/holdfast/schema"

// Marker says what may not change at a node.
type Marker uint8

const (
	// Free allows every change. In a schema it means that a node has no marker. In
	// [Declare] it excludes a part of a field that is immutable as a whole.
	Free Marker = iota
	// Immutable forbids every change in the subtree. A field that is absent stays
	// absent.
	Immutable
	// ImmutableKeys forbids adding and removing keys of a map or items of a list of
	// type map. The values may change.
	ImmutableKeys
	// AdditionOnly forbids removing keys of a map, or items of a list of type map or
	// set.
	AdditionOnly
	// DeletionOnly forbids adding keys of a map, or items of a list of type map or
	// set.
	DeletionOnly
)

// markers are the four markers, in the order in which they are reported.
var markers = [...]Marker{Immutable, ImmutableKeys, AdditionOnly, DeletionOnly}

// String returns the marker in words, such as "addition only".
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

// Keyword returns the schema keyword of the marker, empty for Free.
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

// MarkerOf returns the marker of s, Free for none and for a nil schema. If a node
// has two, which [Validate] refuses, it returns the first in the order of the
// constants.
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

// flag returns the value of the keyword on s, nil if it is absent.
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

// Covers reports whether m forbids everything that other forbids.
func (m Marker) Covers(other Marker) bool {
	switch {
	case m == other || other == Free || m == Immutable:
		return true
	case m == ImmutableKeys:
		return other == AdditionOnly || other == DeletionOnly
	}
	return false
}

// forbidsAdding reports whether a key that is only in the new value is a violation.
func (m Marker) forbidsAdding() bool {
	return m == ImmutableKeys || m == DeletionOnly || m == Immutable
}

// forbidsRemoving reports whether a key that is only in the old value is a
// violation.
func (m Marker) forbidsRemoving() bool {
	return m == ImmutableKeys || m == AdditionOnly || m == Immutable
}
