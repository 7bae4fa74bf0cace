package value

import (
	"encoding/json"
	"hash/maphash"
	"reflect"
)

// Comparison compares and hashes values in one mode. Its hashes are seeded at
// random, so that a client cannot send values that collide.
type Comparison struct {
	mode Mode
	seed maphash.Seed
}

// NewComparison returns a comparison with a seed of its own.
func NewComparison(mode Mode) Comparison { return Comparison{mode, maphash.MakeSeed()} }

// Mode returns the mode of the comparison.
func (c Comparison) Mode() Mode { return c.mode }

// Equal reports whether two values are equal. Lists are compared in order.
func (m Mode) Equal(a, b any) bool { return Comparison{mode: m}.Equal(nil, a, b) }

// Equal reports whether two values at a place with the shape s are equal. If a and
// b share a map or list in memory, Equal does not read it: it is equal to itself.
func (c Comparison) Equal(s Shape, a, b any) bool {
	if x, isString := a.(string); isString && s == nil {
		y, ok := b.(string)
		return ok && x == y
	}
	if c.mode != Strict {
		a, b = c.mode.Reduce(a), c.mode.Reduce(b)
	}
	switch a := a.(type) {
	case map[string]any:
		switch b := b.(type) {
		case map[string]any:
			return SameObject(a, b) || c.equalObjects(s, a, b)
		case Absent:
			return c.mode == BuiltIn && c.equalObjects(s, a, nil)
		}
		return false
	case []any:
		b, isList := b.([]any)
		return isList && c.equalLists(s, a, b)
	case Absent:
		if b, isObject := b.(map[string]any); isObject && c.mode == BuiltIn {
			return c.equalObjects(s, nil, b)
		}
	}
	if s != nil {
		a, b = canonical(s, a), canonical(s, b)
	}
	return equalScalars(a, b)
}

func (c Comparison) equalObjects(s Shape, a, b map[string]any) bool {
	if len(a) != len(b) && c.mode == Strict && s == nil {
		return false
	}
	inBoth := 0
	for name, v := range a {
		other, present := b[name]
		if present {
			inBoth++
		} else {
			other = Absent{}
		}
		if below := field(s, name); !isIgnored(below) && !c.Equal(below, v, other) {
			return false
		}
	}
	if inBoth == len(b) {
		return true
	}
	for name, v := range b {
		if _, compared := a[name]; compared {
			continue
		}
		if below := field(s, name); !isIgnored(below) && !c.Equal(below, Absent{}, v) {
			return false
		}
	}
	return true
}

func (c Comparison) equalLists(s Shape, a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	if SameList(a, b) {
		return true
	}
	if isSet(s) {
		return c.PairValues(s, a, b).Complete()
	}
	for i := range a {
		if below := item(s, i); !isIgnored(below) && !c.Equal(below, a[i], b[i]) {
			return false
		}
	}
	return true
}

// equalScalars compares values that are neither objects nor lists.
func equalScalars(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case int64:
		if b, ok := b.(int64); ok {
			return a == b
		}
	case nil:
		return b == nil
	case Absent:
		_, ok := b.(Absent)
		return ok
	}
	return equalNumbers(a, b)
}

// equalNumbers compares numbers, and values that JSON cannot hold. The latter are
// compared by reflection, because == could panic for them.
func equalNumbers(a, b any) bool {
	x, isNumber := numberOf(a)
	y, areNumbers := numberOf(b)
	if isNumber || areNumbers {
		return isNumber && areNumbers && x == y
	}
	if text, ok := a.(json.Number); ok {
		other, ok := b.(json.Number)
		return ok && text == other
	}
	return reflect.DeepEqual(a, b)
}

// EqualKeys reports whether two items of a list have the same values for keys.
// An item that is no object has none of them.
func (m Mode) EqualKeys(keys []string, a, b any) bool {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	for _, key := range keys {
		if !m.Equal(m.Field(x, key), m.Field(y, key)) {
			return false
		}
	}
	return true
}
