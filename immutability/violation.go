package immutability

import "holdfast.dev/holdfast/value"

// Operation is what an update did at a path.
type Operation uint8

const (
	// Changed is one value in place of another.
	Changed Operation = iota
	// Added is a value where there was none.
	Added
	// Removed is no value where there was one.
	Removed
	// Reordered is a list with the same items in another order.
	Reordered
)

// String is the operation in a word.
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

// Violation is one change that a marker forbids. It refers into both objects
// and is valid as long as they stay unchanged.
type Violation struct {
	// Path is where the objects differ.
	Path *value.Path
	// Operation is what the update did there.
	Operation Operation
	// Old and New are the values at Path; Old is nil when Added, New is nil
	// when Removed.
	Old, New any
	// Marker is the one that forbids it, and SchemaPath the node that carries
	// it: a path in the schema, or the path of the rule given to Declare.
	Marker     Marker
	SchemaPath *value.Path
	// Exception names the exception of the rule that did not apply, if it has one.
	Exception string

	rule *node
}

// String is the path and the message.
func (v Violation) String() string { return v.Path.String() + ": " + v.Message() }

// Message says what was tried, with the values shortened: immutable: changed
// from 80 to 81.
func (v Violation) Message() string {
	switch v.Operation {
	case Added:
		return v.Marker.String() + ": added " + brief(v.New)
	case Removed:
		return v.Marker.String() + ": removed " + brief(v.Old)
	case Reordered:
		return v.Marker.String() + ": reordered from " + brief(v.Old) + " to " + brief(v.New)
	}
	return v.Marker.String() + ": changed from " + brief(v.Old) + " to " + brief(v.New)
}

// Hint tells a person what to do about it.
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
