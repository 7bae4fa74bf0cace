package kind

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
)

// pruneManagedFields removes from the managedFields of an object, in place, the fields that the schema does not have. It uses the schema of the
// version in which each manager wrote. It is called after such fields were pruned from the object itself.
func (k *Kind) pruneManagedFields(obj map[string]any) {
	k.editSets(obj, func(v *Version, fields map[string]any) bool {
		return v.Compiled.Pruned && v.Compiled.Skeleton.PruneFields(fields)
	})
}

// NormalizeManagedFields removes from the managedFields of a normalized object the fields that normalization has removed from the object.
// Server-side apply is the reason: a manager owns everything that it applies, an empty list too. Only a manager that wrote this
// version can own such a field.
func (v *Version) NormalizeManagedFields(obj map[string]any) {
	if !v.Compiled.Skeleton.Normalizes() {
		return
	}
	v.Kind.editSets(obj, func(written *Version, fields map[string]any) bool {
		return written == v && v.Compiled.Skeleton.NormalizeFields(fields, obj)
	})
}

// editSets edits the sets of fields of an object. edit changes a set in place and reports whether it did. It gets a copy, because the
// object may share its sets with others. A manager that owns nothing afterwards is removed.
func (k *Kind) editSets(obj map[string]any, edit func(written *Version, fields map[string]any) bool) {
	metadata, _ := obj["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	if len(entries) == 0 {
		return
	}
	kept := make([]any, 0, len(entries))
	for _, item := range entries {
		entry, _ := item.(map[string]any)
		fields, ok := entry["fieldsV1"].(map[string]any)
		if v := k.versionOf(entry); ok && v != nil {
			fields = runtime.DeepCopyJSON(fields)
			if edit(v, fields) {
				if len(fields) == 0 {
					continue
				}
				entry = maps.Clone(entry)
				entry["fieldsV1"] = fields
				item = entry
			}
		}
		kept = append(kept, item)
	}
	metadata["managedFields"] = kept
}
