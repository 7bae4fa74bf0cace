package custom

import (
	"maps"

	"sigs.k8s.io/structured-merge-diff/v6/schema"

	"holdfast.dev/holdfast/nesting"
)

// createdFields returns the set of fields of the manager that creates an object. It returns false if the library must compute the
// set, for example because a value does not fit the schema. The result equals that of the library, which FuzzCreatedFields
// checks. It is shared, see fieldSets.
//
// Most objects of a resource have the fields of the one that was created before. So createdFields first compares the object
// with the set of that one, which needs no memory.
func (v *version) createdFields(obj *object) (map[string]any, bool) {
	if v.merged.schema == nil || v.embeds || v.compiled.Skeleton.Normalizes() || len(v.resource.versions) > 1 {
		return nil, false
	}
	root, ok := v.merged.schema.Resolve(v.merged.ref)
	if !ok || root.Map == nil || root.Map.ElementRelationship == schema.Atomic || nesting.ContentLevels(obj.Object) > nesting.Limit {
		return nil, false
	}
	content, ok := v.ownedPart(obj.Object)
	if !ok {
		return nil, false
	}
	c := createdSet{v.merged.schema}
	if known := v.lastCreated.Load(); known != nil && c.areFields(root.Map, content, *known, unnamed) {
		return *known, true
	}
	fields, ok := c.fields(root.Map, content, unnamed)
	if !ok || len(fields) == 0 {
		return nil, false
	}
	if fields, ok = v.resource.server.sets.equal(fields); ok {
		v.lastCreated.Store(&fields)
	}
	return fields, ok
}

// ownedPart returns the content of a new object without the fields that no manager owns.
func (v *version) ownedPart(obj map[string]any) (map[string]any, bool) {
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return nil, false
	}
	metadata = maps.Clone(metadata)
	for _, key := range unownedMetadata {
		delete(metadata, key)
	}
	out := maps.Clone(obj)
	delete(out, "apiVersion")
	delete(out, "kind")
	if v.compiled.HasStatus() {
		delete(out, "status")
	}
	if out["metadata"] = metadata; len(metadata) == 0 {
		delete(out, "metadata")
	}
	return out, true
}
