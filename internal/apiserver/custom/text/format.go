package text

import (
	"encoding/json"
	"io"
	"math"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"
)

// Format decodes and encodes custom resources, for clients and for storage.
type Format interface {
	// Decode decodes one object. Integers stay integers. The result shares no memory with data.
	Decode(data []byte) (map[string]any, error)
	// DecodeStrict is Decode, and returns an error for each duplicate key.
	DecodeStrict(data []byte) (obj map[string]any, duplicates []error, err error)
	// Encode writes one object and a newline.
	Encode(w io.Writer, obj map[string]any) error
	// Append appends the text of a value to a buffer, without a newline.
	Append(to []byte, value any) ([]byte, error)
}

// HasWholeFloat reports whether a value has a floating-point number such as 1.0. Its text is 1, which is decoded to an integer. All other
// decoded values are decoded to themselves after they were encoded.
func HasWholeFloat(v any) bool {
	switch v := v.(type) {
	case float64:
		return v == math.Trunc(v)
	case map[string]any:
		for _, child := range v {
			if HasWholeFloat(child) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, HasWholeFloat)
	}
	return false
}

// Library is the plain form of a Format.
type Library struct{}

var (
	_ Format = Library{}
	_ Format = &JSON{}
)

// Decode implements Format.
func (Library) Decode(data []byte) (map[string]any, error) {
	var obj map[string]any
	err := utiljson.Unmarshal(data, &obj)
	return obj, err
}

// DecodeStrict implements Format.
func (Library) DecodeStrict(data []byte) (obj map[string]any, duplicates []error, err error) {
	obj = map[string]any{}
	duplicates, err = kjson.UnmarshalStrict(data, &obj)
	return obj, duplicates, err
}

// Encode implements Format.
func (Library) Encode(w io.Writer, obj map[string]any) error { return json.NewEncoder(w).Encode(obj) }

// Append implements Format.
func (Library) Append(to []byte, value any) ([]byte, error) {
	data, err := json.Marshal(value)
	return append(to, data...), err
}
