package parameters

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/value"
)

// Type is the type of a parameter's value.
type Type string

// The types. All values are stored as text. Templates see values of type Array and Map as
// lists and objects, all others as text.
const (
	String  Type = "string"
	Integer Type = "integer"
	Number  Type = "number"
	Boolean Type = "boolean"
	Array   Type = "array"
	Map     Type = "map"
)

// Null is the text of an array or a map that templates see as nil.
const Null = "null"

// Types returns all types.
func Types() []Type { return []Type{String, Integer, Number, Boolean, Array, Map} }

func (t Type) orDefault() Type {
	if t == "" {
		return String
	}
	return t
}

// isComposite reports whether templates see a list or an object.
func (t Type) isComposite() bool { return t == Array || t == Map }

// brief returns as much of a value as a message shows.
func brief(text string) string { return value.CutBytes(text, 256) }

// accepts reports whether a text is a value of the type.
func (t Type) accepts(text string) bool {
	switch t {
	case Integer:
		_, err := strconv.ParseInt(text, 10, 64)
		return err == nil
	case Number:
		number, err := strconv.ParseFloat(text, 64)
		return err == nil && !math.IsNaN(number) && !math.IsInf(number, 0)
	case Boolean:
		_, err := strconv.ParseBool(text)
		return err == nil
	case Array, Map:
		_, ok := t.parse(text)
		return ok
	}
	return true
}

// parse returns the list or object that the text of an array or map describes.
func (t Type) parse(text string) (any, bool) {
	document, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, false
	}
	var parsed any
	if err := json.Unmarshal(document, &parsed); err != nil {
		return nil, false
	}
	switch parsed := parsed.(type) {
	case nil:
		return t.null(), true
	case []any:
		return parsed, t == Array
	case map[string]any:
		return parsed, t == Map
	}
	return nil, false
}

// null returns what templates see if the text of an array or map is null or empty. As in
// KUDO it is nil, and for an array a nil list, which functions such as len and join accept.
func (t Type) null() any {
	if t == Map {
		return nil
	}
	return []any(nil)
}

// Seen returns a value as templates see it: a list for an array, an object for a map, nil
// if the text of either is null or empty, and the text itself for every other type and for a
// text that is no array or map.
func (t Type) Seen(text string) any {
	if t.isComposite() {
		if parsed, ok := t.parse(text); ok {
			return parsed
		}
	}
	return text
}

// same reports whether templates see two texts as the same value.
func (t Type) same(a, b string) bool { return a == b || sameSeen(t, a, t, b) }

// sameSeen compares what templates see. They can tell null from an empty list: toYaml
// prints them differently.
func sameSeen(aType Type, a string, bType Type, b string) bool {
	seenA, seenB := aType.Seen(a), bType.Seen(b)
	if isNull(seenA) || isNull(seenB) {
		return isNull(seenA) && isNull(seenB) && aType == bType
	}
	return value.Strict.Equal(seenA, seenB)
}

func isNull(seen any) bool {
	list, isList := seen.([]any)
	return seen == nil || isList && list == nil
}

// Effective returns the values that templates see, by name: the stored value, else the
// default, else the empty text.
func (v *Version) Effective(stored map[string]string) map[string]any {
	seen := make(map[string]any, len(v.Definitions))
	for i := range v.Definitions {
		d := &v.Definitions[i]
		seen[d.Name] = d.Type.Seen(lookup(stored, d.Name).or(d.defaultSetting()).text)
	}
	return seen
}
