package immutability

import (
	"strings"

	"holdfast.dev/holdfast/value"
)

// Operation says what an update did at a path.
type Operation uint8

const (
	// Changed means that a value was replaced by another.
	Changed Operation = iota
	// Added means that a value was added.
	Added
	// Removed means that a value was removed.
	Removed
	// Reordered means that a list has the same items in another order.
	Reordered
)

// String returns the operation in one word.
func (o Operation) String() string {
	switch o {
	case Added:
		return "added"
	case Removed:
		return "removed"
	case Reordered:
		return "reordered"
	}
	return "changed"
}

// Violation is one change that a marker forbids. It holds references into both
// objects and is valid as long as they do not change.
type Violation struct {
	// Path is the place at which the objects differ.
	Path *value.Path
	// Operation is the change at Path.
	Operation Operation
	// Old and New are the values at Path. Old is nil for Added, New is nil for
	// Removed.
	Old, New any
	// Marker forbids the change. SchemaPath is the node of the schema that has the
	// marker, or the path of the rule given to Declare.
	Marker     Marker
	SchemaPath *value.Path
	// Mark is the rule that forbids the change if the rule is a mark of its own: one with a condition, one on a field that has
	// another rule, or one about metadata. The caller decides whether its condition holds.
	Mark *Mark
	// Exception is the name of the rule's exception, which does not allow this
	// change; empty if the rule has none.
	Exception string

	rule *node
}

// String returns the path and the message.
func (v Violation) String() string { return v.Path.String() + ": " + v.Message() }

// Rule says what the update did, without values: field is immutable: changed. Clients look for the first three words.
func (v Violation) Rule() string {
	words := "field is immutable"
	switch v.Marker {
	case Immutable:
	case SetOnce:
		words += " once set"
	default:
		words += ": " + v.Marker.String()
	}
	if v.Mark != nil && v.Mark.While != "" {
		words += " while " + v.Mark.While
	}
	return words + ": " + v.Operation.String()
}

// Message is Rule with the values: field is immutable: changed from 80 to 81. Long values are
// cut.
func (v Violation) Message() string {
	return strings.TrimSuffix(v.Rule(), v.Operation.String()) + v.Change()
}

// Change says what the update did, with the values: changed from 80 to 81.
func (v Violation) Change() string {
	switch v.Operation {
	case Added:
		return "added " + brief(v.New)
	case Removed:
		return "removed " + brief(v.Old)
	}
	return v.Operation.String() + " from " + brief(v.Old) + " to " + brief(v.New)
}

// Hint says what a user can do about the violation.
func (v Violation) Hint() string {
	hint := v.hint()
	if v.Exception != "" {
		hint += "; the exception (" + v.Exception + ") does not apply here"
	}
	return hint
}

func (v Violation) hint() string {
	switch v.Marker {
	case ImmutableKeys:
		if v.Operation == Added {
			return "the keys are fixed, their values may change: leave the new key out, or create a new object"
		}
		return "the keys are fixed, their values may change: put the key back, or create a new object"
	case AdditionOnly:
		return "keys may be added but not removed: put it back, or create a new object"
	case DeletionOnly:
		return "keys may be removed but not added: leave it out, or create a new object"
	}
	switch v.Operation {
	case Added:
		return "it was not set when the object was created and cannot be set now: leave it out, or create a new object"
	case Removed:
		return "it is fixed since it was set: put the old value back, or create a new object"
	case Reordered:
		return "the order is fixed too: put the items back in the old order, or create a new object"
	}
	return "it is fixed since it was set: keep the old value, or create a new object"
}
