package immutability

import (
	"slices"

	"holdfast.dev/holdfast/schema"
)

// promise reports the holes on the way to a field that is meant to stay. rule is
// the text of the CEL rule that says so, empty for a marker.
func (f *finder) promise(field *frame, marker Marker, rule string) {
	var holes []Escape
	report := func(parent *frame, hole Hole, closer Marker) {
		holes = append(holes, Escape{
			Field: field.path, Promise: marker, Rule: rule,
			Parent: parent.path, Hole: hole, Close: closer,
		})
	}
	var below *frame // the frame under at, on the way to the field
	settled := false // whether the keys of at are held, or are reported already
	for at := field; at.parent != nil; below, at = at, at.parent {
		if at.Edge != schema.Property {
			container := at.parent
			switch {
			case below == field && container.isKey(field):
				// An item is known by its key, so the key cannot change.
				return
			case effective(container.Schema) != Free:
				// A marker on keys takes absence for emptiness.
				settled = true
			case container.keepsItems():
				settled = false
			default:
				report(container, itemHole(at.Edge), itemMarker(container.Schema))
				settled = true
			}
			continue
		}
		hole, open := at.hole(field)
		if settled || !open || at == field && rule == "" || at.kept() {
			settled = false
			continue
		}
		switch {
		case at == field:
			report(at, hole, fieldMarker(at.Schema, marker))
		case below.Edge != schema.Property:
			report(at, hole, itemMarker(at.Schema))
		default:
			report(at, hole, Immutable)
		}
	}
	slices.Reverse(holes)
	f.found = append(f.found, holes...)
}

// hole is how the property at can be taken away from its object, if it can.
func (at *frame) hole(field *frame) (hole Hole, open bool) {
	switch {
	case !requires(at.parent.Schema, at.Name) && at.Schema.Default == nil:
		return OptionalField, true
	case at.Schema.Nullable:
		return NullableField, true
	case at.Schema.Type == "" && at != field:
		return UntypedField, true
	}
	return 0, false
}

// isKey says whether below is a field by which the items of the list at are known.
func (at *frame) isKey(below *frame) bool {
	return below != nil && below.Edge == schema.Property && at.Schema.ListType == "map" &&
		slices.Contains(at.Schema.ListMapKeys, below.Name)
}

func itemHole(edge schema.Edge) Hole {
	if edge == schema.PatternProperty || edge == schema.AdditionalProperty {
		return MapKey
	}
	return ListItem
}

// itemMarker is the weakest marker that keeps what is in a map or list from
// being replaced.
func itemMarker(s *schema.Schema) Marker {
	if keyless(s) == "" {
		return AdditionOnly
	}
	return Immutable
}

// fieldMarker is the marker that promises on s what a rule there does, and may
// stand there.
func fieldMarker(s *schema.Schema, promise Marker) Marker {
	if keyless(s) != "" || s.ListType == "set" && promise == ImmutableKeys {
		return Immutable
	}
	return promise
}

// kept says whether a rule around the property at refuses to let it go, or to let
// it come again.
func (at *frame) kept() bool {
	return at.refused(scenario{event: removed}) || at.refused(scenario{event: set})
}

// keepsItems says whether a rule refuses to let keys or items of at go, or to let
// them come.
func (at *frame) keepsItems() bool {
	return at.refused(scenario{event: itemRemoved}) || at.refused(scenario{event: itemAdded})
}

// refused says whether a rule that sees at by its name refuses what happens there.
// For a property that goes or comes, rules on it are not asked.
func (at *frame) refused(s scenario) bool {
	from := at
	if s.event == removed || s.event == set {
		from = at.step(&s)
	}
	for from != nil {
		for _, r := range from.rules {
			if r.refuses(s) {
				return true
			}
		}
		from = from.step(&s)
	}
	return false
}

// step is the parent of a property, from where the path of s begins with its
// name; nil where names end.
func (at *frame) step(s *scenario) *frame {
	if at.parent == nil || at.Edge != schema.Property {
		return nil
	}
	s.path = slices.Insert(slices.Clone(s.path), 0, at.Name)
	return at.parent
}
