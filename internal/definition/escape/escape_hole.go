package escape

import (
	"slices"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// promise reports the escapes of a field that a marker or rule protects. rule is
// the text of the CEL rule, empty for a marker.
func (f *finder) promise(field *frame, marker immutability.Marker, rule string) {
	var holes []Escape
	report := func(parent *frame, hole Hole, closer immutability.Marker) {
		holes = append(holes, Escape{
			Field: field.path, Promise: marker, Rule: rule,
			Parent: parent.path, Hole: hole, Close: closer,
			field: field, parent: parent, reader: f.reader,
		})
	}
	if hole, open := field.unset(); open && rule == "" && marker == immutability.NoModify {
		report(field, hole, immutability.SetOnce)
	}
	var below *frame // the frame under at, on the path to the field
	settled := false // the keys of at are protected, or already reported
	for at := field; at.parent != nil; below, at = at, at.parent {
		if at.Edge != schema.Property {
			container := at.parent
			switch {
			case below == field && container.isKey(field):
				// The key identifies the item, so it cannot change.
				return
			case container.protectsItems():
				// For a marker about keys, absent and empty are the same.
				settled = true
			case container.keepsItems():
				settled = false
			default:
				report(container, itemHole(at.Edge), itemMarker(container.Schema)|immutability.Effective(container.Schema))
				settled = true
			}
			continue
		}
		hole, open := at.hole(field)
		if settled || !open || at == field && rule == "" {
			settled = false
			continue
		}
		switch {
		case at == field:
			report(at, hole, fieldMarker(at.Schema, marker))
		case below.Edge != schema.Property:
			report(at, hole, itemMarker(at.Schema))
		default:
			report(at, hole, immutability.Immutable)
		}
	}
	slices.Reverse(holes)
	f.found = append(f.found, holes...)
}

// hole returns the first write of an escape that removes or overwrites this property.
// open is false if there is no such write.
func (at *frame) hole(field *frame) (hole Hole, open bool) {
	staysSet := at != field && at.staysSet()
	switch {
	case !at.parent.Schema.Requires(at.Name) && at.Schema.Default == nil && !staysSet && !at.kept():
		return OptionalField, true
	case at.Schema.Nullable && !staysSet:
		// For has(), null is a value.
		return NullableField, true
	case at.Schema.Type == "" && at != field:
		return UntypedField, true
	}
	return 0, false
}

// unset returns the first write of an escape that unsets the value of this node. open is false if there is no
// such write.
func (at *frame) unset() (hole Hole, open bool) {
	s := at.Schema
	if at.Edge == schema.Property {
		if hole, open = at.hole(at); open {
			return hole, true
		}
	}
	isList := s.Type == "array" && (s.MinItems == nil || *s.MinItems == 0)
	isMap := s.IsMap() && (s.MinProperties == nil || *s.MinProperties == 0)
	switch {
	case s.Nullable:
		return NullableField, true
	case isList || isMap:
		return EmptyField, true
	}
	return 0, false
}

// staysSet reports whether the marker of this node forbids to remove its value, or to set it again.
func (at *frame) staysSet() bool {
	return immutability.Effective(at.Schema)&(immutability.NoUnset|immutability.NoSet) != 0
}

// protectsItems reports whether the marker of this map or list forbids to remove its keys or items, or to add
// them again.
func (at *frame) protectsItems() bool {
	m := immutability.Effective(at.Schema)
	return m.Covers(immutability.NoRemoveItem) || m.Covers(immutability.NoAddItem) || m&immutability.NoModify != 0
}

// isKey reports whether below is one of the list map keys of this list.
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

// itemMarker returns the weakest marker that prevents replacing the values of a
// map or the items of a list.
func itemMarker(s *schema.Schema) immutability.Marker {
	if immutability.HasKeys(s) {
		return immutability.AdditionOnly
	}
	return immutability.Immutable
}

// fieldMarker returns the marker that says the same on s as a rule, and is valid
// there.
func fieldMarker(s *schema.Schema, promise immutability.Marker) immutability.Marker {
	if !immutability.HasKeys(s) || s.ListType == "set" && promise == immutability.ImmutableKeys {
		return immutability.Immutable
	}
	return promise
}

// kept reports whether a rule above this property forbids removing it, or setting it
// again.
func (at *frame) kept() bool {
	return at.refused(scenario{event: removed}) || at.refused(scenario{event: set})
}

// keepsItems reports whether a rule forbids removing keys or items of this map or
// list, or adding them.
func (at *frame) keepsItems() bool {
	return at.refused(scenario{event: itemRemoved}) || at.refused(scenario{event: itemAdded})
}

// refused reports whether a rule on this node or above it refuses the scenario. If a
// write removes or sets a property, CEL does not run the transition rules on the
// property itself.
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

// step returns the parent of a property and adds the name of the property to the
// beginning of the path of s. It returns nil for a frame that is no property.
func (at *frame) step(s *scenario) *frame {
	if at.parent == nil || at.Edge != schema.Property {
		return nil
	}
	s.path = slices.Insert(slices.Clone(s.path), 0, at.Name)
	return at.parent
}
