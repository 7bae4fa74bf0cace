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

// Types returns all types.
func Types() []Type { return []Type{String, Integer, Number, Boolean, Array, Map} }

func (t Type) orDefault() Type {
	if t == "" {
		return String
	}
	return t
}

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
		return t.empty(), true
	case []any:
		return parsed, t == Array
	case map[string]any:
		return parsed, t == Map
	}
	return nil, false
}

func (t Type) empty() any {
	if t == Map {
		return map[string]any{}
	}
	return []any{}
}

// Seen returns a value as templates see it: a list for an array, an object for a map, and
// the text itself for every other type and for a text that is no array or map.
func (t Type) Seen(text string) any {
	if t == Array || t == Map {
		if parsed, ok := t.parse(text); ok {
			return parsed
		}
	}
	return text
}

// same reports whether templates see two texts as the same value.
func (t Type) same(a, b string) bool { return a == b || sameSeen(t, a, t, b) }

func sameSeen(aType Type, a string, bType Type, b string) bool {
	return value.Strict.Equal(aType.Seen(a), bType.Seen(b))
}

// Effective returns the values that templates see, by name: the stored value, else the
// default, else the empty text, list or object.
func (v *Version) Effective(stored map[string]string) map[string]any {
	seen := make(map[string]any, len(v.Definitions))
	for i := range v.Definitions {
		d := &v.Definitions[i]
		seen[d.Name] = d.Type.Seen(lookup(stored, d.Name).or(d.defaultSetting()).text)
	}
	return seen
}
