package logic_test

import (
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/definition/logic"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/schema"
)

const filters = `
type: object
required: [type, filters, maybe]
properties:
  type: {type: string, enum: [Header, Mirror]}
  mode: {type: string, enum: [Fast, Slow]}
  way: {type: string, enum: [Up, Down], default: Up}
  name: {type: string}
  any: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {size: {type: string}}}
  map: {type: object, additionalProperties: {type: string}}
  mirror: {type: object, properties: {port: {type: integer}}}
  filters: {type: array, items: {type: object, required: [type], properties: {type: {type: string, enum: [Header]}}}}
  maybe: {type: object, nullable: true, properties: {a: {type: string}}}
  metadata: {type: object, properties: {name: {type: string}}}
  more: {type: array, items: {type: object, required: [type], properties: {type: {type: string, enum: [Header]}}}}
`

// added are the new fields.
const added = `
  cors: {type: object}
  percent: {type: integer}
  fraction: {type: integer}
  limited: {type: integer, default: 5}
`

func decode(t *testing.T, text string) *schema.Schema {
	t.Helper()
	s, _, err := schema.Decode(yamltest.Map(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFollows(t *testing.T) {
	t.Parallel()
	s := decode(t, filters)
	updated := decode(t, strings.Replace(filters, "properties:\n", "properties:\n"+added, 1))
	for rule, want := range map[string]bool{
		"true":            true,
		"false":           false,
		"not a rule":      false,
		"!has(self.cors)": true,
		"!(has(self.cors) && self.type != 'CORS')":       true,
		"!(!has(self.cors) && self.type == 'CORS')":      true,
		"!(!has(self.mirror) && self.type == 'Mirror')":  false,
		"self.type == 'CORS' ? has(self.cors) : true":    true,
		"'CORS' != self.type || has(self.cors)":          true,
		"self.type in ['CORS', 'Auth'] ? false : true":   true,
		"self.mode in [] ? false : true":                 false,
		"self.type in ['CORS', 'Mirror'] ? false : true": false,
		"!has(self.percent) || !has(self.fraction)":      true,

		// An absent field is an error, and then the server refuses the object.
		"self.mode != 'CORS'":                            false,
		"self.way != 'CORS'":                             true,
		"!has(self.mirror.percent)":                      false,
		"!has(self.mirror) || !has(self.mirror.percent)": false,
		"self.name != 'CORS'":                            false,

		// The server adds a default, and a value may be null.
		"!has(self.limited)": false,
		"!has(self.maybe.b)": false,

		// These have fields that the schema does not name.
		"!has(self.any.more)":              false,
		"!has(self.map.more)":              false,
		"!has(self.metadata.generateName)": false,
		"!has(self.metadata)":              false,
		"!has(self.other.more)":            false,

		"self.filters.all(f, f.type != 'CORS')":                     true,
		"self.filters.all(f, f.type != 'Header')":                   false,
		"!self.filters.exists(f, f.type == 'CORS')":                 true,
		"self.filters.filter(f, f.type == 'CORS').size() <= 1":      true,
		"size(self.filters.filter(f, f.type == 'CORS')) <= 1":       true,
		"self.filters.filter(f, f.type == 'CORS').size() <= -1":     false,
		"self.filters.filter(f, f.type == 'CORS').size() <= self.n": false,
		"self.filters.filter(f, f.type == 'Header').size() <= 1":    false,
		"self.more.filter(f, f.type == 'CORS').size() <= 1":         false,
		"self.more.all(f, f.type != 'CORS')":                        false,
		"self.filters.map(f, f.type).size() <= 1":                   false,
		"self.name.matches('a')":                                    false,
	} {
		if got := logic.Follows(rule, s, updated); got != want {
			t.Errorf("%s: %v, want %v", rule, got, want)
		}
	}
}

func TestUnescape(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"size": "size", "__namespace__": "namespace", "a__dash__b": "a-b", "__underscores__a__underscores__": "__a__", "__dot__": ".", "a__b": "a__b",
	} {
		if got := logic.Unescape(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
