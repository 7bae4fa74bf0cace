package custom

import (
	"slices"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/schema"

	"holdfast.dev/holdfast/value"
)

// updateValues returns an updated object with its managed fields, if the update only replaces values of fields that the
// writer owns alone. Such an update changes no set of fields, only the time of the writer. Controllers that update or patch
// the same fields of an object again and again send nothing else.
//
// In all other cases, and whenever it is not sure, updateValues returns false. The field manager of the library then compares
// the objects. The result equals that of the library, which FuzzUpdateValues checks.
func (v *version) updateValues(live, updated *object, w writer) (*object, bool) {
	if live.valid != v || v.merged.schema == nil || v.embeds || v.compiled.Skeleton.Normalizes() || len(v.resource.versions) > 1 {
		return nil, false
	}
	managers, ok := v.managersOf(live.Object, w)
	if !ok || !sendsSameManagers(live, updated, w) {
		return nil, false
	}
	d := valueDiff{fieldWalk: fieldWalk{schema: v.merged.schema, others: managers.others}, own: managers.own()}
	for _, fields := range append(slices.Clip(managers.others), d.own) {
		if !d.isStable(v.merged.ref, fields) {
			return nil, false
		}
	}
	shareContent(live.Object, updated.Object)
	if !v.compareParts(&d, live.Object, updated.Object, w.subresource) {
		return nil, false
	}
	out := content(updated.DeepCopyObject())
	metadata, ok := out.Object["metadata"].(map[string]any)
	if !ok {
		return nil, false
	}
	out.sets = live.sets
	metadata["managedFields"] = managers.entries
	if d.changes > 0 {
		metadata["managedFields"] = managers.writtenAt(time.Now())
	}
	return out, true
}

// sendsSameManagers reports whether an update leaves the managed fields to the server. A client that sends other ones replaces
// them, except in a write to a subresource.
func sendsSameManagers(live, updated *object, w writer) bool {
	metadata, ok := updated.Object["metadata"].(map[string]any)
	if !ok {
		return false
	}
	sent, ok := metadata["managedFields"]
	return !ok || w.subresource != "" || value.Identical(sent, any(listIn(live, "managedFields")))
}

// compareParts compares the fields that a write can change: those of the object without the status, or those of the status.
func (v *version) compareParts(d *valueDiff, live, updated map[string]any, subresource string) bool {
	root, ok := d.schema.Resolve(v.merged.ref)
	if !ok || root.Map == nil || root.Map.ElementRelationship == schema.Atomic {
		return false
	}
	if live["apiVersion"] != updated["apiVersion"] || live["kind"] != updated["kind"] {
		return false
	}
	if subresource != "" {
		return v.compiled.Pruned && d.object(root.Map, only(live, subresource), only(updated, subresource), nil)
	}
	without := []string{"apiVersion", "kind", "metadata"}
	if v.compiled.HasStatus() {
		without = append(without, "status")
	}
	return d.object(root.Map, live, updated, without) && d.metadata(root.Map, live, updated)
}

// only returns an object with one of its fields.
func only(obj map[string]any, key string) map[string]any {
	out := map[string]any{}
	if v, ok := obj[key]; ok {
		out[key] = v
	}
	return out
}
