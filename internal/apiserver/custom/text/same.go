package text

import (
	"bytes"

	"holdfast.dev/holdfast/value"
)

// Same reports whether two objects have the same text. Values of different types may have one: an integer and a whole float.
func Same(a, b map[string]any) bool {
	if value.Identical(a, b) {
		return true
	}
	one, oneErr := Library{}.Append(nil, a)
	other, otherErr := Library{}.Append(nil, b)
	return oneErr == nil && otherErr == nil && bytes.Equal(one, other)
}
