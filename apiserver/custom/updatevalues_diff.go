package custom

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/schema"

	"holdfast.dev/holdfast/value"
)

// valueDiff walks through the stored and the updated object at once. It gives up if the update does more than replace values
// that the writer owns alone.
type valueDiff struct {
	fieldWalk
	// own is the set of fields of the writer.
	own map[string]any
	// changes counts the replaced values.
	changes int
}

// value compares two values.
func (d *valueDiff) value(ref schema.TypeRef, live, updated any) bool {
	atom, ok := d.schema.Resolve(ref)
	if !ok {
		return value.Identical(live, updated)
	}
	switch updated := updated.(type) {
	case map[string]any:
		stored, isObject := live.(map[string]any)
		if atom.Map == nil || !isObject || (stored == nil) != (updated == nil) {
			return value.Identical(live, updated)
		}
		if atom.Map.ElementRelationship == schema.Atomic {
			return d.container(ref, live, updated)
		}
		return value.SameObject(stored, updated) || d.object(atom.Map, stored, updated, nil)
	case []any:
		stored, isList := live.([]any)
		if atom.List == nil || !isList || (stored == nil) != (updated == nil) {
			return value.Identical(live, updated)
		}
		if atom.List.ElementRelationship == schema.Atomic {
			return d.container(ref, live, updated)
		}
		return value.SameList(stored, updated) || d.list(atom.List, stored, updated)
	case string, bool, int64, float64:
		if live == updated {
			return true
		}
		return atom.Scalar != nil && isOfType(*atom.Scalar, updated) && haveSameType(live, updated) && d.leaf()
	}
	return value.Identical(live, updated)
}

// object compares the fields of two objects, without some of them.
func (d *valueDiff) object(t *schema.Map, live, updated map[string]any, without []string) bool {
	added := 0
	for key, v := range updated {
		if slices.Contains(without, key) {
			continue
		}
		stored, isStored := live[key]
		if !isStored {
			return false
		}
		added++
		d.path = append(d.path, pathElement{fieldPrefix, key})
		ok := d.value(fieldType(t, key), stored, v)
		d.path = d.path[:len(d.path)-1]
		if !ok {
			return false
		}
	}
	for key := range live {
		if !slices.Contains(without, key) {
			added--
		}
	}
	return added == 0
}

// metadata compares the metadata of two objects, without the fields that no manager owns.
func (d *valueDiff) metadata(root *schema.Map, live, updated map[string]any) bool {
	field, isNamed := root.FindField("metadata")
	stored, isStored := live["metadata"].(map[string]any)
	sent, isSent := updated["metadata"].(map[string]any)
	if !isNamed || !isStored || !isSent {
		return false
	}
	atom, ok := d.schema.Resolve(field.Type)
	if !ok || atom.Map == nil || atom.Map.ElementRelationship == schema.Atomic {
		return false
	}
	d.path = append(d.path, pathElement{fieldPrefix, "metadata"})
	ok = d.object(atom.Map, stored, sent, unownedMetadata)
	d.path = d.path[:len(d.path)-1]
	return ok
}

// list compares the items of two lists that have keys or are sets.
func (d *valueDiff) list(t *schema.List, live, updated []any) bool {
	if t.ElementRelationship != schema.Associative || len(live) != len(updated) {
		return false
	}
	if len(live) > 1 && d.inMetadata() {
		return value.Identical(live, updated) // validation does not check that these items differ
	}
	for i, v := range updated {
		name, isNamed := itemName(t.Keys, v)
		if !isNamed || !isSameItem(t.Keys, live[i], v) {
			return false
		}
		d.path = append(d.path, pathElement{"", name})
		ok := d.value(t.ElementType, live[i], v)
		d.path = d.path[:len(d.path)-1]
		if !ok {
			return false
		}
	}
	return true
}

// container compares two lists or objects that have one owner as a whole.
func (d *valueDiff) container(ref schema.TypeRef, live, updated any) bool {
	if value.Identical(live, updated) {
		return true
	}
	return d.isOther(ref, live, updated) && d.leaf()
}

// leaf reports whether the writer alone owns the current value, which the update replaces.
func (d *valueDiff) leaf() bool {
	owned := d.at(d.own)
	if owned == nil || len(owned) > 0 || d.hasOtherOwner() {
		return false
	}
	d.changes++
	return true
}
