package fields

import (
	"maps"

	"holdfast.dev/holdfast/apiserver/custom/object"
	"holdfast.dev/holdfast/value"
)

// Update implements Recorder.
func (q *Quick) Update(stored, updated *object.Object, manager string) *object.Object {
	if written, ok := q.updatedValues(stored, updated, manager); ok {
		return written
	}
	return q.library.Update(stored, updated, manager)
}

// updatedValues returns an updated object with its managed fields. It shares with the stored object the values that did not change.
func (q *Quick) updatedValues(stored, updated *object.Object, manager string) (*object.Object, bool) {
	if len(q.Version.Kind.Versions) > 1 || stored.GetUID() == "" || !isPlainManager(manager) ||
		stored.Object["apiVersion"] != updated.Object["apiVersion"] || stored.Object["kind"] != updated.Object["kind"] {
		return nil, false
	}
	managers, ok := q.managersOf(stored, writer{manager, updates, q.Subresource})
	if !ok || q.Subresource == "" && !sendsSameManagers(managers, updated) {
		return nil, false
	}
	before, ok := q.owned(stored.Object)
	after, isObject := q.owned(updated.Object)
	if !ok || !isObject {
		return nil, false
	}
	walk := valueWalk{schema: q.Version.Merged.Schema, others: managers.others}
	merged, ok := walk.merge(q.root, before, after, managers.own)
	if !ok {
		return nil, false
	}
	// The fields without a manager are those of the updated object.
	content := object.Share(updated.Object)
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return nil, false
	}
	if owned, ok := merged["metadata"].(map[string]any); ok {
		maps.Copy(metadata, owned)
	}
	maps.Copy(content, merged)
	content["metadata"] = metadata
	metadata["managedFields"] = managers.after(walk.changes)
	out := object.Of(content)
	out.Unseen, out.Valid, out.Sets = updated.Unseen, updated.Valid, stored.Sets
	return out, true
}

// sendsSameManagers reports whether an update leaves the managed fields to the server. A client that sends other ones replaces them,
// except in a write to a subresource.
func sendsSameManagers(stored fieldManagers, updated *object.Object) bool {
	metadata, _ := updated.Object["metadata"].(map[string]any)
	sent, ok := metadata["managedFields"]
	return !ok || value.Identical(sent, any(stored.entries))
}

// Apply implements Recorder.
func (q *Quick) Apply(stored *object.Object, applied Configuration) (*object.Object, error) {
	if merged, ok := q.appliedValues(stored, applied); ok {
		return merged, nil
	}
	return q.library.Apply(stored, applied)
}

// appliedValues merges a configuration into the stored object, if the configuration has exactly the fields that its manager owns. The
// result shares with the stored object the values that did not change. For the manager kubectl, the library also writes an annotation.
func (q *Quick) appliedValues(stored *object.Object, applied Configuration) (*object.Object, bool) {
	if stored == nil || q.Subresource != "" || applied.Manager == "kubectl" {
		return nil, false
	}
	managers, ok := q.managersOf(stored, writer{manager: applied.Manager, operation: applies})
	if !ok || !q.isOwnable(stored.Object, applied.Content) {
		return nil, false
	}
	config, ok := q.owned(applied.Content)
	if !ok || len(config) == 0 {
		return nil, false
	}
	walk := valueWalk{schema: q.Version.Merged.Schema, others: managers.others, isApply: true}
	merged, ok := walk.merge(q.root, stored.Object, config, managers.own)
	if !ok {
		return nil, false
	}
	if walk.changes == 0 {
		return stored.Copy(), true
	}
	out := object.Of(object.Share(merged))
	out.Sets = stored.Sets
	metadata, ok := out.Object["metadata"].(map[string]any)
	if !ok {
		return nil, false
	}
	metadata["managedFields"] = managers.after(walk.changes)
	return out, true
}
