package immutability

import (
	"fmt"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// StatusTrap is a field under .status that cannot be set later than the status
// as a whole: the status is empty when an object is created, and once it is
// there, the marker keeps the field as it is, unset if it was left out.
type StatusTrap struct {
	Path   *value.Path
	Marker Marker
}

// String is the warning for a person.
func (s StatusTrap) String() string {
	if s.Path.Parent().Parent() == nil {
		return fmt.Sprintf("status: %s: it can never be set, because no object has it when it is created", s.Marker)
	}
	return fmt.Sprintf("%s: %s under status: it can only be set by the write that sets the status for the first time",
		Field(s.Path), s.Marker)
}

// StatusTraps finds the fields that can only be set together with the whole
// status. The caller knows whether the version has a status subresource;
// without one, status is a field like others.
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
		marker := effective(at.Schema)
		if marker.forbidsAdding() {
			found = append(found, StatusTrap{at.Path, marker})
			return false
		}
		// An optional part of the status can come later, and bring the field.
		return at.Depth == 1 || requires(at.Parent.Schema, at.Name)
	})
	return found
}

// requires says whether an object has to have a property.
func requires(s *schema.Schema, name string) bool {
	for _, required := range s.Required {
		if required == name {
			return true
		}
	}
	for _, branch := range s.AllOf {
		if branch != nil && requires(branch, name) {
			return true
		}
	}
	return false
}
