package nesting

import (
	"fmt"
	"math"
)

const (
	// Limit is the number of levels that a value may have. The definitions of known projects
	// have less than 40, and common decoders of protobuf accept 100. Decision 0020 has the
	// reasons.
	Limit = 128

	// managedLevels are the levels of metadata.managedFields that the described object does
	// not have: the object with the metadata, the metadata, the list, its item, and the empty
	// object that stands for a field without children.
	managedLevels = 5
)

// Error says that a value has more levels than [Limit].
type Error struct {
	// What names the value, such as "the body".
	What string
}

// Error implements error.
func (e Error) Error() string {
	what := e.What
	if what == "" {
		what = "the value"
	}
	return fmt.Sprintf("%s is nested deeper than %d levels, which is the limit", what, Limit)
}

// Object returns an error if a decoded object has too many levels.
func Object(obj map[string]any) error {
	if ObjectLevels(obj) > Limit {
		return Error{What: "the object"}
	}
	return nil
}

// ObjectLevels returns the number of levels of a decoded object. The levels of
// metadata.managedFields count without the additional ones.
func ObjectLevels(obj map[string]any) int {
	metadata, _ := obj["metadata"].(map[string]any)
	return max(ContentLevels(obj), 2+levels(metadata["managedFields"])-managedLevels)
}

// ContentLevels returns the number of levels of a decoded object without
// metadata.managedFields.
func ContentLevels(obj map[string]any) int {
	most := 0
	for key, child := range obj {
		metadata, ok := child.(map[string]any)
		if !ok || key != "metadata" {
			most = max(most, levels(child))
			continue
		}
		most = max(most, 1)
		for name, field := range metadata {
			if name != "managedFields" {
				most = max(most, 1+levels(field))
			}
		}
	}
	return 1 + most
}

// levels returns the number of levels of a value.
func levels(v any) int {
	most := 0
	switch v := v.(type) {
	case map[string]any:
		for _, child := range v {
			most = max(most, levels(child))
		}
	case []any:
		for _, child := range v {
			most = max(most, levels(child))
		}
	default:
		return 0
	}
	return 1 + most
}

// TextLevels returns the number of levels of JSON text.
func TextLevels(text []byte) int {
	s := Scanner{limit: math.MaxInt}
	s.Scan(text)
	return s.deepest
}

// FieldLevels returns the number of levels of the object that a set of managed fields
// describes, from fieldsV1, the text of the set. The set has one level more: the empty object
// that stands for a field without children.
func FieldLevels(text []byte) int { return TextLevels(text) - 1 }
