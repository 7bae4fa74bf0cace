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

// The types. A value is text in all of them; only Array and Map are seen by
// templates as something else.
const (
	String  Type = "string"
	Integer Type = "integer"
	Number  Type = "number"
	Boolean Type = "boolean"
	Array   Type = "array"
	Map     Type = "map"
)

// Types are all of them.
func Types() []Type { return []Type{String, Integer, Number, Boolean, Array, Map} }

func (t Type) orString() Type {
	if t == "" {
		return String
	}
	return t
}

// brief returns as much of a value as a message shows.
func brief(text string) string { return value.CutBytes(text, 256) }

// holds says whether a text is a value of the type.
func (t Type) holds(text string) bool {
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

// parse is the value that the text of an array or a map stands for.
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

// Seen is the value as a template sees it: a list for an array, an object for a
// map, the text itself for every other type, and for what is no array or map.
func (t Type) Seen(text string) any {
	if t == Array || t == Map {
		if parsed, ok := t.parse(text); ok {
			return parsed
		}
	}
	return text
}

// same says whether two texts are one value to a template.
func (t Type) same(a, b string) bool { return a == b || seenAlike(t, a, t, b) }

func seenAlike(aType Type, a string, bType Type, b string) bool {
	return value.Strict.Equal(aType.Seen(a), bType.Seen(b))
}

// Effective are the values a template sees, by name: the stored ones, else the
// defaults, else nothing: the empty text, list or object.
func (v *Version) Effective(stored map[string]string) map[string]any {
	seen := make(map[string]any, len(v.Definitions))
	for i := range v.Definitions {
		d := &v.Definitions[i]
		seen[d.Name] = d.Type.Seen(lookup(stored, d.Name).or(d.preset()).text)
	}
	return seen
}
