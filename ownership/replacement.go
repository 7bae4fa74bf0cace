package ownership

import (
	"encoding/json"
	"fmt"
	"maps"
)

// replaced are the fields of metadata that a replacement does not apply.
var replaced = []string{"managedFields", "uid", "resourceVersion", "generation", "creationTimestamp"}

// NoteTooLarge is the note about a replacement that annotations cannot hold. The
// object is replaced nevertheless.
const NoteTooLarge = "the last-applied configuration does not follow the replacement, which is too large for an annotation"

// Replacement is the last-applied configuration of an object that was replaced
// with config, as kubectl would have written it had it applied that.
func Replacement(config map[string]any) (string, error) {
	out := maps.Clone(config)
	delete(out, "status")
	if meta, ok := out["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		for _, name := range replaced {
			delete(meta, name)
		}
		if annotations, ok := meta["annotations"].(map[string]any); ok {
			annotations = maps.Clone(annotations)
			delete(annotations, LastApplied)
			meta["annotations"] = annotations
		}
		out["metadata"] = meta
	}
	text, err := json.Marshal(out)
	if err != nil {
		return "", fmt.Errorf("encode last-applied configuration: %w", err)
	}
	return string(text) + "\n", nil
}

// SameBesides says whether two objects are equal but for what is never judged:
// the annotation of apply, managed fields, status and what the server sets.
func SameBesides(t *Type, live, updated map[string]any) bool {
	return !changes(t.Applied.root, judged(live), judged(updated))
}
