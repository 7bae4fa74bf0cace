package fields

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	mergevalue "sigs.k8s.io/structured-merge-diff/v6/value"

	"holdfast.dev/holdfast/internal/nesting"
	"holdfast.dev/holdfast/value"
)

// valueWalk walks through a stored object, the object or the configuration that a writer sends, and the set of fields of the writer at
// once. Each method returns the stored value with the written values. It returns false if the write may do more than replace values
// that the writer alone owns.
//
// An applied configuration has exactly the fields that its manager owns. An update has the whole object, and the writer need not own the
// values that stay.
type valueWalk struct {
	schema *schema.Schema
	// isApply tells an applied configuration from an update.
	isApply bool
	// others are the sets of fields of the managers that do not write.
	others []map[string]any
	// path leads to the current value.
	path []pathElement
	// changes counts the replaced values.
	changes int
	// replacedContainer reports whether one of them was a list or an object.
	replacedContainer bool
}

// merge merges a written object into the stored one. own is the set of fields of the writer.
func (w *valueWalk) merge(root *schema.Map, stored, written, own map[string]any) (map[string]any, bool) {
	merged, ok := w.object(root, stored, written, setBelow{fields: own})
	if !ok || w.replacedContainer && nesting.ContentLevels(written) > nesting.Limit {
		return nil, false
	}
	out, ok := merged.(map[string]any)
	return out, ok
}

// value merges a written value into the stored one.
func (w *valueWalk) value(ref schema.TypeRef, stored, written any, owned setBelow) (any, bool) {
	atom, ok := w.schema.Resolve(ref)
	if !ok {
		return w.unknown(stored, written)
	}
	switch written := written.(type) {
	case map[string]any:
		before, _ := stored.(map[string]any)
		switch {
		case atom.Map == nil || before == nil || written == nil:
		case atom.Map.ElementRelationship == schema.Atomic:
			return w.container(ref, stored, written, owned)
		case !w.isApply && value.SameObject(before, written):
			return stored, true
		default:
			return w.object(atom.Map, before, written, owned)
		}
	case []any:
		before, _ := stored.([]any)
		switch {
		case atom.List == nil || before == nil || written == nil:
		case atom.List.ElementRelationship == schema.Atomic:
			return w.container(ref, stored, written, owned)
		case !w.isApply && value.SameList(before, written):
			return stored, true
		default:
			return w.list(atom.List, before, written, owned)
		}
	default:
		if isScalar(atom, written) && haveSameType(stored, written) {
			return w.leaf(stored, written, owned)
		}
	}
	return w.unknown(stored, written)
}

// unknown merges a value that the walk cannot compare by the schema. An update may leave it as it is.
func (w *valueWalk) unknown(stored, written any) (any, bool) {
	return stored, !w.isApply && value.Identical(stored, written)
}

// object merges the fields of an object.
func (w *valueWalk) object(t *schema.Map, stored, written map[string]any, owned setBelow) (any, bool) {
	switch {
	case w.isApply && len(written) == 0:
		return stored, len(owned.fields) == 0
	case w.isApply && !owned.areExactly(len(written)), !w.isApply && len(stored) != len(written):
		return nil, false
	}
	merged, copied := stored, false
	for key, v := range written {
		before, isStored := stored[key]
		below, isOwned := owned.fields[fieldPrefix+key].(map[string]any)
		if !isStored || w.isApply && !isOwned {
			return nil, false
		}
		ref := t.ElementType
		field, isNamed := t.FindField(key)
		if isNamed {
			ref = field.Type
		}
		changes := w.changes
		w.path = append(w.path, pathElement{fieldPrefix, key})
		out, ok := w.value(ref, before, v, setBelow{below, !isNamed})
		w.path = w.path[:len(w.path)-1]
		if !ok {
			return nil, false
		}
		if w.changes == changes {
			continue
		}
		if !copied {
			merged, copied = maps.Clone(stored), true
		}
		merged[key] = out
	}
	return merged, true
}

// list merges the items of a list that has keys or is a set. The stored list may have more items than a configuration, but those of
// the configuration must have the same order in it: then the library keeps the order too. Validation does not check that the items of a
// list in the metadata differ.
func (w *valueWalk) list(t *schema.List, stored, written []any, owned setBelow) (any, bool) {
	if t.ElementRelationship != schema.Associative || len(written) == 0 || len(stored) > 1 && w.path[0].name == "metadata" ||
		w.isApply && !owned.areExactly(len(written)) || !w.isApply && len(stored) != len(written) {
		return w.unknown(stored, written)
	}
	merged, copied, at := stored, false, 0
	for _, v := range written {
		for at < len(stored) && !isSameItem(t.Keys, stored[at], v) {
			at++
		}
		name, isNamed := itemName(t.Keys, v)
		below, isOwned := owned.fields[name].(map[string]any)
		if at == len(stored) || !isNamed || w.isApply && !isOwned {
			return w.unknown(stored, written)
		}
		changes := w.changes
		w.path = append(w.path, pathElement{"", name})
		out, ok := w.value(t.ElementType, stored[at], v, setBelow{below, true})
		w.path = w.path[:len(w.path)-1]
		if !ok {
			return nil, false
		}
		if w.changes > changes {
			if !copied {
				merged, copied = slices.Clone(stored), true
			}
			merged[at] = out
		}
		at++
	}
	return merged, true
}

// container merges a list or an object that has one owner as a whole. A new value must fit the schema, and differ from the stored one for
// the library: it takes 1 and 1.0 for the same value.
func (w *valueWalk) container(ref schema.TypeRef, stored, written any, owned setBelow) (any, bool) {
	if value.Identical(stored, written) {
		return stored, !w.isApply || len(owned.fields) == 0
	}
	isEqual := mergevalue.Equals(mergevalue.NewValueInterface(stored), mergevalue.NewValueInterface(written))
	if isEqual || !isValid(w.schema, ref, written) {
		return nil, false
	}
	w.replacedContainer = true
	// The server completes the merged object in place, and the next attempt must get the written value as it was.
	return w.leaf(stored, runtime.DeepCopyJSONValue(written), owned)
}

// leaf merges a value that has one owner as a whole. Its two values have the same type.
func (w *valueWalk) leaf(stored, written any, owned setBelow) (any, bool) {
	if value.Identical(stored, written) {
		return stored, !w.isApply || len(owned.fields) == 0
	}
	if owned.fields == nil || len(owned.fields) > 0 || slices.ContainsFunc(w.others, w.owns) {
		return nil, false
	}
	w.changes++
	return written, true
}

// owns reports whether a set of fields has the current value, or anything below it.
func (w *valueWalk) owns(fields map[string]any) bool {
	for _, e := range w.path {
		below, ok := fields[e.prefix+e.name].(map[string]any)
		if !ok {
			return false
		}
		fields = below
	}
	return true
}
