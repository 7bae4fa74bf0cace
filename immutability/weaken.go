package immutability

import (
	"fmt"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// Weakening is a marker that an update of a definition removes, or replaces by one
// that forbids less, on a node that stays. Typed clients that do not know the
// markers remove them by accident.
type Weakening struct {
	Path     *value.Path
	Old, New Marker // New is Free if the marker was removed
}

// String returns the text of the warning.
func (w Weakening) String() string {
	if w.New == Free {
		return fmt.Sprintf("%s: %s is gone, so it may change from now on", Field(w.Path), w.Old.written())
	}
	return fmt.Sprintf("%s: %s became %s, which promises less", Field(w.Path), w.Old.written(), w.New.written())
}

// Weakened returns every marker of oldSchema that newSchema weakens, in the order
// of the schema. A node below an immutable node of newSchema is not weakened.
func Weakened(oldSchema, newSchema *schema.Schema) []Weakening {
	var found []Weakening
	align([]*schema.Schema{oldSchema, newSchema}, func(at alignment) {
		if at.nodes[0] == nil || at.nodes[1] == nil {
			return
		}
		before, after := MarkerOf(at.nodes[0]), at.marker(1)
		if !after.Covers(before) {
			found = append(found, Weakening{at.path, before, after})
		}
	})
	return found
}
