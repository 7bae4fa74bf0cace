package custom

import (
	"maps"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/schema"

	"holdfast.dev/holdfast/nesting"
	"holdfast.dev/holdfast/value"
)

// mergeType is the type of a version in the library that merges applied configurations.
type mergeType struct {
	schema *schema.Schema
	ref    schema.TypeRef
}

// applyValues merges an applied configuration into the stored object, if the configuration has exactly the
// fields that its manager owns. Such an apply only replaces values. It adds and removes no field, and each
// manager keeps its fields. Controllers that apply the same objects again and again send nothing else.
//
// In all other cases, and whenever it is not sure, applyValues returns false. The field manager of the library
// then merges the configuration. These cases include a changed value that another manager owns too.
//
// The result shares the values that did not change with the stored object. It equals the result of the
// library, which FuzzApplyValues checks.
func (v *version) applyValues(live *object, applied map[string]any, manager string) (*object, bool) {
	if live.valid != v || v.merged.schema == nil || v.embeds || v.compiled.Skeleton.Normalizes() {
		return nil, false
	}
	managers, ok := v.managersOf(live.Object, writer{manager: manager, operation: "Apply"})
	if !ok {
		return nil, false
	}
	config, ok := v.ownable(live.Object, applied)
	if !ok {
		return nil, false
	}
	m := valueMerge{fieldWalk: fieldWalk{schema: v.merged.schema, others: managers.others}}
	for _, fields := range managers.others {
		if !m.isStable(v.merged.ref, fields) {
			return nil, false
		}
	}
	merged, ok := m.value(v.merged.ref, live.Object, config, setBelow{fields: managers.own()})
	if !ok || m.replacedContainer && nesting.ContentLevels(applied) > nesting.Limit {
		return nil, false
	}
	if m.changes == 0 {
		return content(live.DeepCopyObject()), true
	}
	root, ok := merged.(map[string]any)
	if !ok {
		return nil, false
	}
	out := objectOf(share(root))
	out.sets = live.sets
	metadata, ok := out.Object["metadata"].(map[string]any)
	if !ok {
		return nil, false
	}
	metadata["managedFields"] = managers.writtenAt(time.Now())
	return out, true
}

// ownable returns a configuration without the fields that no manager owns: the kind and the name. They must be those of the stored
// object. It returns false for a configuration with a field that the server sets.
func (v *version) ownable(live, applied map[string]any) (map[string]any, bool) {
	if _, ok := applied["status"]; ok && v.compiled.HasStatus() {
		return nil, false
	}
	config := maps.Clone(applied)
	if !without(config, live, "apiVersion", "kind") {
		return nil, false
	}
	metadata, isObject := config["metadata"].(map[string]any)
	stored, isStored := live["metadata"].(map[string]any)
	if !isObject || !isStored {
		return nil, false
	}
	metadata = maps.Clone(metadata)
	if !without(metadata, stored, "name", "namespace") {
		return nil, false
	}
	for _, key := range serverFields {
		if _, ok := metadata[key]; ok {
			return nil, false
		}
	}
	config["metadata"] = metadata
	if len(metadata) == 0 {
		delete(config, "metadata")
	}
	return config, len(config) > 0
}

// serverFields are the fields of metadata that clients do not own.
var serverFields = []string{
	"creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields", "resourceVersion",
}

// unownedMetadata are the fields of metadata that no manager owns.
var unownedMetadata = append([]string{"name", "namespace"}, serverFields...)

// without removes keys from a map. It returns false if a value is not that of the stored map.
func without(obj, stored map[string]any, keys ...string) bool {
	for _, key := range keys {
		if v, ok := obj[key]; ok && !value.Identical(v, stored[key]) {
			return false
		}
		delete(obj, key)
	}
	return true
}
