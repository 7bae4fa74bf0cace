package immutability

import (
	"fmt"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// StatusTrap is a field under .status that can only be set by the write that sets
// the status for the first time. An object is created without a status. Once the
// status is set, the marker keeps the field as it is: a field that was not set then
// stays unset.
type StatusTrap struct {
	Path   *value.Path
	Marker Marker
}

// String returns the text of the warning.
func (s StatusTrap) String() string {
	if s.Path.Parent().Parent() == nil {
		return fmt.Sprintf("status: %s: it can never be set, because no object has it when it is created", s.Marker)
	}
	return fmt.Sprintf("%s: %s under status: it can only be set by the write that sets the status for the first time",
		Field(s.Path), s.Marker)
}

// StatusTraps returns the fields that can only be set together with the whole
// status. Callers use it only for versions with a status subresource; without
// one, status is a field like others.
func StatusTraps(s *schema.Schema) []StatusTrap {
	if s == nil || s.Properties["status"] == nil {
		return nil
	}
	var found []StatusTrap
	schema.Walk(s, func(at *schema.Visit) bool {
		if at.Edge == schema.Root {
			return true
		}
		if at.Edge != schema.Property || at.Depth == 1 && at.Name != "status" {
			return false
		}
		marker := Effective(at.Schema)
		if marker.has(NoSet | NoAddItem) {
			found = append(found, StatusTrap{at.Path, marker})
			return false
		}
		// An optional part of the status can be set later, with the field in it.
		return at.Depth == 1 || at.Parent.Schema.Requires(at.Name)
	})
	return found
}
