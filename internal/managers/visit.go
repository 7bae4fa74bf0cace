package managers

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/ownership"
)

// visit visits the fields of an earlier entry.
type visit struct {
	*examination
	entry entry
	why   func(entry, fieldpath.Path) (Reason, string)
	path  fieldpath.Path
}

// fields visits a set of fields inside of a value. around is the reason why the list item around it is stuck: its fields are stuck with
// it, and are not shown for the same reason.
func (v *visit) fields(set *fieldpath.Set, value any, around Reason) {
	each := func(element fieldpath.PathElement) {
		inside, ok := child(value, element)
		if !ok || inside == nil || len(v.path) == 0 && isServerSet(element) {
			return
		}
		v.path = append(v.path, element)
		defer func() { v.path = v.path[:len(v.path)-1] }()
		below, hasBelow := set.Children.Get(element)
		reason := around
		if set.Members.Has(element) && (!hasBelow || element.Key != nil) {
			reason = v.judge(around, inside)
		}
		if hasBelow {
			v.fields(below, inside, reason)
		}
	}
	set.Members.Iterate(each)
	set.Children.Iterate(func(element fieldpath.PathElement) {
		if !set.Members.Has(element) {
			each(element)
		}
	})
}

// judge adds the field at the path if it is stuck, and returns the reason.
func (v *visit) judge(around Reason, inside any) Reason {
	isOwned := slices.ContainsFunc(v.ordinary, func(one entry) bool { return one.owns(v.path) })
	if isOwned || v.path.Equals(lastApplied) || isComposite(inside) && v.path[len(v.path)-1].Key == nil && v.isGranular() {
		return around
	}
	reason, applier := v.why(v.entry, v.path)
	if reason == "" || reason == around {
		return around
	}
	shown, ok := ownership.PathOf(v.path)
	if !ok || v.IsFree(shown) {
		return around
	}
	v.found = append(v.found, Stuck{Path: shown, Reason: reason, Writer: WriterOf(v.entry.ManagedFieldsEntry), Applier: applier})
	return reason
}

// isGranular reports whether the value at the path has fields of other entries inside of it: then the entry owns only that the value is
// there.
func (v *visit) isGranular() bool {
	return slices.ContainsFunc(v.entries, func(one entry) bool { return one.hasBelow(v.path) })
}

// isServerSet reports whether an element at the top of an object has no owner that applies it.
func isServerSet(element fieldpath.PathElement) bool {
	return element.FieldName == nil || slices.Contains([]string{"apiVersion", "kind", "status"}, *element.FieldName)
}

// isComposite reports whether a value has values inside.
func isComposite(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}
