package custom

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/schema"

	"holdfast.dev/holdfast/value"
)

// valueMerge walks through an applied configuration, the stored object and the fields of the manager at once. It
// gives up if the configuration has other fields than the manager owns.
type valueMerge struct {
	fieldWalk
	// changes counts the replaced values.
	changes int
	// replacedContainer reports whether one of them was a list or an object.
	replacedContainer bool
}

// setBelow is the part of a set of fields below a value.
type setBelow struct {
	fields map[string]any
	// withItself reports whether the set must also contain the value itself. It contains the items of
	// lists and maps, and does not contain the fields that the schema names.
	withItself bool
}

// areExactly reports whether the set may consist of a number of fields below the value.
func (o setBelow) areExactly(n int) bool {
	_, hasItself := o.fields["."]
	if hasItself {
		n++
	}
	return hasItself == o.withItself && len(o.fields) == n
}

// value merges an applied value into the stored one.
func (m *valueMerge) value(ref schema.TypeRef, live, applied any, owned setBelow) (any, bool) {
	atom, ok := m.schema.Resolve(ref)
	if !ok {
		return nil, false
	}
	switch applied := applied.(type) {
	case map[string]any:
		stored, isObject := live.(map[string]any)
		if atom.Map == nil || !isObject || stored == nil || applied == nil {
			return nil, false
		}
		if atom.Map.ElementRelationship == schema.Atomic {
			return m.container(ref, live, applied, owned)
		}
		return m.object(atom.Map, stored, applied, owned)
	case []any:
		stored, isList := live.([]any)
		if atom.List == nil || !isList {
			return nil, false
		}
		if atom.List.ElementRelationship == schema.Atomic {
			return m.container(ref, live, applied, owned)
		}
		return m.list(atom.List, stored, applied, owned)
	case string, bool, int64, float64:
		if atom.Scalar == nil || !isOfType(*atom.Scalar, applied) || !haveSameType(live, applied) {
			return nil, false
		}
		return m.leaf(live, applied, owned)
	}
	return nil, false
}

// object merges the fields of an object.
func (m *valueMerge) object(t *schema.Map, live, applied map[string]any, owned setBelow) (any, bool) {
	if len(applied) == 0 {
		return live, len(owned.fields) == 0
	}
	if !owned.areExactly(len(applied)) {
		return nil, false
	}
	merged, copied := live, false
	for key, v := range applied {
		stored, isStored := live[key]
		below, isOwned := owned.fields[fieldPrefix+key].(map[string]any)
		if !isStored || !isOwned {
			return nil, false
		}
		ref := t.ElementType
		field, isNamed := t.FindField(key)
		if isNamed {
			ref = field.Type
		}
		changes := m.changes
		m.path = append(m.path, pathElement{fieldPrefix, key})
		out, ok := m.value(ref, stored, v, setBelow{below, !isNamed})
		m.path = m.path[:len(m.path)-1]
		if !ok {
			return nil, false
		}
		if m.changes == changes {
			continue
		}
		if !copied {
			merged, copied = maps.Clone(live), true
		}
		merged[key] = out
	}
	return merged, true
}

// list merges the items of a list that has keys or is a set. The stored list may have more items, but those of the
// configuration must have the same order in it: then the library keeps the order too.
func (m *valueMerge) list(t *schema.List, live, applied []any, owned setBelow) (any, bool) {
	if t.ElementRelationship != schema.Associative || len(applied) == 0 || !owned.areExactly(len(applied)) {
		return nil, false
	}
	if len(live) > 1 && m.inMetadata() {
		return nil, false // validation does not check that these items differ
	}
	merged, copied, at := live, false, 0
	for _, v := range applied {
		for at < len(live) && !isSameItem(t.Keys, live[at], v) {
			at++
		}
		name, isNamed := itemName(t.Keys, v)
		below, isOwned := owned.fields[name].(map[string]any)
		if at == len(live) || !isNamed || !isOwned {
			return nil, false
		}
		changes := m.changes
		m.path = append(m.path, pathElement{"", name})
		out, ok := m.value(t.ElementType, live[at], v, setBelow{below, true})
		m.path = m.path[:len(m.path)-1]
		if !ok {
			return nil, false
		}
		if m.changes > changes {
			if !copied {
				merged, copied = slices.Clone(live), true
			}
			merged[at] = out
		}
		at++
	}
	return merged, true
}

// container merges a list or an object that has one owner as a whole.
func (m *valueMerge) container(ref schema.TypeRef, live, applied any, owned setBelow) (any, bool) {
	if value.Identical(live, applied) {
		return live, len(owned.fields) == 0
	}
	if !m.isOther(ref, live, applied) {
		return nil, false
	}
	m.replacedContainer = true
	// The server completes the merged object in place, and the next attempt must get the configuration as it was.
	return m.leaf(live, runtime.DeepCopyJSONValue(applied), owned)
}

// leaf merges a value that has one owner as a whole. Its two values have the same type.
func (m *valueMerge) leaf(live, applied any, owned setBelow) (any, bool) {
	if len(owned.fields) > 0 {
		return nil, false
	}
	if value.Identical(live, applied) {
		return live, true
	}
	if m.hasOtherOwner() {
		return nil, false
	}
	m.changes++
	return applied, true
}
