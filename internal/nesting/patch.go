package nesting

import (
	"encoding/json"
	"strings"
)

// Patch returns an error if a JSON patch (RFC 6902) has too many levels, or could give an
// object too many levels. A value counts with the elements of its path. The operations copy
// and move may put a value deeper than it was, by at most [Limit] levels in the whole patch:
// the operations run one after the other, and each could move the result of the one before.
// The object that results from the patch still has to be checked.
func Patch(text []byte) error {
	// The patch itself is a list of objects.
	s := Scanner{limit: Limit + managedLevels + 2}
	if !s.Scan(text) {
		return Error{What: "the JSON patch"}
	}
	var operations []operation
	if json.Unmarshal(text, &operations) != nil {
		return nil //nolint:nilerr // the decoder of the patch reports the error
	}
	deeper := 0
	for _, op := range operations {
		path := op.text("path")
		limit := Limit - elements(path)
		if strings.HasPrefix(path, "/metadata/managedFields") {
			limit += managedLevels
		}
		if s := (Scanner{limit: limit}); limit < 1 || !s.Scan(op["value"]) {
			return Error{What: "a value of the JSON patch, at its path,"}
		}
		switch op.text("op") {
		case "copy", "move":
			deeper += max(0, elements(path)-elements(op.text("from")))
		}
	}
	if deeper > Limit {
		return Error{What: "the result of the operations copy and move"}
	}
	return nil
}

// operation is one operation of a JSON patch.
type operation map[string]json.RawMessage

// text returns a field of the operation, or "" if it is no string.
func (o operation) text(field string) string {
	var text string
	_ = json.Unmarshal(o[field], &text) // without a string there is no path to count
	return text
}

// elements returns the number of elements of a JSON pointer.
func elements(pointer string) int { return strings.Count(pointer, "/") }
