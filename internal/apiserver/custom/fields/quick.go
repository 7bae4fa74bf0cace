package fields

import (
	"maps"
	"slices"
	"sync/atomic"

	"sigs.k8s.io/structured-merge-diff/v6/schema"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/nesting"
	"holdfast.dev/holdfast/value"
)

// Quick is the quick form of a Recorder. It records creations, and writes that only replace values of fields that their manager owns
// alone: such a write changes no set of fields, only the time of the manager. Controllers that write the same fields of an object again and
// again send nothing else. In all other cases, and whenever it is not sure, Quick calls the library.
type Quick struct {
	Endpoint
	library Recorder
	// root is the type of the objects. It is nil if the library must record all writes.
	root       *schema.Map
	apiVersion string
	// lastCreated is the set of fields of the object that was created last. Most objects of a kind have the same fields.
	lastCreated atomic.Pointer[map[string]any]
}

var _ Recorder = &Quick{}

func newQuick(e Endpoint) (*Quick, error) {
	library, err := newLibrary(e)
	if err != nil {
		return nil, err
	}
	return quickOver(e, differing{library}), nil
}

func quickOver(e Endpoint, library Recorder) *Quick {
	v := e.Version
	q := &Quick{Endpoint: e, library: library, apiVersion: v.GroupVersion().String()}
	if v.Merged.Schema == nil || v.Compiled.Embeds() || v.Compiled.Skeleton.Normalizes() {
		return q
	}
	root, ok := v.Merged.Schema.Resolve(v.Merged.Ref)
	if ok && root.Map != nil && root.Map.ElementRelationship != schema.Atomic {
		q.root = root.Map
	}
	return q
}

// Create implements Recorder.
func (q *Quick) Create(obj *object.Object, manager string) *object.Object {
	fields, ok := q.createdFields(obj)
	metadata, isObject := obj.Object["metadata"].(map[string]any)
	if !ok || !isObject || !isPlainManager(manager) {
		return q.library.Create(obj, manager)
	}
	entry := map[string]any{
		"manager": manager, "operation": updates, "apiVersion": q.apiVersion, "time": now(), "fieldsType": "FieldsV1", "fieldsV1": fields,
	}
	metadata["managedFields"] = []any{entry}
	return obj
}

// createdFields returns the set of fields of the manager that creates an object. It returns false if the library must compute the set, for
// example because a value does not fit the schema, or because the client sent managed fields.
func (q *Quick) createdFields(obj *object.Object) (map[string]any, bool) {
	if q.root == nil || q.Subresource != "" || len(q.Version.Kind.Versions) > 1 || obj.GroupVersionKind() != q.Version.GroupVersionKind() ||
		has(obj.Object, "managedFields") || nesting.ContentLevels(obj.Object) > nesting.Limit {
		return nil, false
	}
	content, ok := q.owned(obj.Object)
	if !ok {
		return nil, false
	}
	var known map[string]any
	if last := q.lastCreated.Load(); last != nil {
		known = *last
	}
	fields, ok := createdSet{q.Version.Merged.Schema}.fields(q.root, content, known, unnamed)
	if !ok || len(fields) == 0 || value.SameObject(fields, known) {
		return fields, ok && len(fields) > 0
	}
	if kept, ok := q.Version.Sets().Equal(fields); ok {
		fields = kept
		q.lastCreated.Store(&fields)
	}
	return fields, true
}

// managersOf returns the managed fields of a stored object that is known to be valid. It returns false if the library must handle them.
func (q *Quick) managersOf(stored *object.Object, w writer) (fieldManagers, bool) {
	if q.root == nil || stored.Valid != q.Version.Compiled {
		return fieldManagers{}, false
	}
	managers, ok := managersOf(stored.Object, q.apiVersion, w)
	for _, fields := range append(slices.Clip(managers.others), managers.own) {
		ok = ok && isStable(q.Version.Merged.Schema, q.Version.Merged.Ref, fields)
	}
	return managers, ok
}

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
