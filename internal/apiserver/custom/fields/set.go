package fields

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// The keys of a set of fields begin with one of these.
const (
	fieldPrefix = "f:"
	keyPrefix   = "k:"
	valuePrefix = "v:"
)

// pathElement is a key of a set of fields. It is kept in two parts, because the whole key is seldom needed.
type pathElement struct{ prefix, name string }

// setBelow is the part of the set of the writer below a value.
type setBelow struct {
	// fields is nil if the writer owns neither the value nor anything below it.
	fields map[string]any
	// withItself reports whether the set of an applied configuration must also contain the value itself. It contains the items of
	// lists and maps, and does not contain the fields that the schema names.
	withItself bool
}

// areExactly reports whether the set may consist of a number of fields below the value.
func (o setBelow) areExactly(n int) bool {
	_, hasItself := o.fields["."]
	if hasItself {
		n++
	}
	return hasItself == o.withItself && len(o.fields) == n
}

// itemName returns the name of an item of a list in a set of fields, in the form that the library writes. It returns
// false if the item lacks a key of the list, or if a key has a value that this function cannot write.
func itemName(keys []string, item any) (string, bool) {
	text, ok := appendItemName(make([]byte, 0, 64), keys, item)
	return string(text), ok
}

// appendItemName appends the name of an item.
func appendItemName(text []byte, keys []string, item any) ([]byte, bool) {
	if len(keys) == 0 {
		return appendScalar(append(text, valuePrefix...), item)
	}
	fields, ok := item.(map[string]any)
	if !ok {
		return text, false
	}
	if len(keys) > 1 {
		keys = slices.Sorted(slices.Values(keys))
	}
	text = append(text, keyPrefix+"{"...)
	for i, key := range keys {
		if i > 0 {
			text = append(text, ',')
		}
		if text, ok = appendScalar(text, key); !ok {
			return text, false
		}
		text = append(text, ':')
		if text, ok = appendScalar(text, fields[key]); !ok {
			return text, false
		}
	}
	return append(text, '}'), true
}

// appendScalar appends the JSON text of a value. It returns false for text that needs an escape sequence, and for
// floating-point numbers.
func appendScalar(text []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case string:
		for i := range len(v) {
			if c := v[i]; c < ' ' || c > '~' || strings.IndexByte(`"\<>&`, c) >= 0 {
				return text, false
			}
		}
		return append(append(append(text, '"'), v...), '"'), true
	case int64:
		return strconv.AppendInt(text, v, 10), true
	case bool:
		return strconv.AppendBool(text, v), true
	}
	return text, false
}

// hasItem reports whether a list has an item with the keys of another.
func hasItem(list []any, keys []string, item any) bool {
	return slices.ContainsFunc(list, func(other any) bool { return isSameItem(keys, other, item) })
}

// isSameItem reports whether two items of a list have the same keys, or the same value in a set.
func isSameItem(keys []string, a, b any) bool {
	if len(keys) == 0 {
		return isSameScalar(a, b)
	}
	x, isObject := a.(map[string]any)
	y, isOther := b.(map[string]any)
	if !isObject || !isOther {
		return false
	}
	for _, key := range keys {
		if !isSameScalar(x[key], y[key]) {
			return false
		}
	}
	return true
}

func isSameScalar(a, b any) bool { return haveSameType(a, b) && a == b }

// haveSameType reports whether two values are scalars of one type.
func haveSameType(a, b any) bool {
	switch a.(type) {
	case string, bool, int64, float64:
		return reflect.TypeOf(a) == reflect.TypeOf(b)
	}
	return false
}
