package ownership

import (
	"encoding/json"
	"fmt"
	"maps"
)

// replaced are the fields of metadata that Replacement leaves out of the
// configuration.
var replaced = []string{"managedFields", "uid", "resourceVersion", "generation", "creationTimestamp"}

// NoteTooLarge is the note about a replacement that is too large for an annotation.
// The object is replaced nevertheless.
const NoteTooLarge = "the last-applied configuration does not follow the replacement, which is too large for an annotation"

// Replacement returns the last-applied configuration for an object that was replaced
// with config: the one that kubectl apply of config would write.
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

// EqualJudged reports whether the judged fields of two objects are equal: all but the
// last-applied annotation, the status, and metadata that the server sets.
func EqualJudged(t *Type, live, updated map[string]any) bool {
	return len(t.Changed(live, updated, 1)) == 0
}
