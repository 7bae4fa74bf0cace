package escape_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/escape"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/schema"
)

func schemaOf(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, unknown, err := schema.Decode(yamltest.Map(t, text))
	if err != nil || len(unknown) > 0 {
		t.Fatalf("error %v, unknown %v in\n%s", err, unknown, text)
	}
	return s
}

// FuzzFind checks that no schema and no rule makes Find fail, and that it gives the same answer again.
func FuzzFind(f *testing.F) {
	f.Add(`{properties: {a: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}`)
	f.Add(`{properties: {a: {type: object, additionalProperties: {x-kubernetes-immutable: true}}}}`)
	f.Add(`{x-kubernetes-validations: [{rule: "oldSelf.a.all(k, k in self.a)"}], properties: {a: {type: object}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Skip()
		}
		s, _, err := schema.Decode(object)
		if err != nil {
			t.Skip()
		}
		if one, two := fmt.Sprint(escape.Find(s)), fmt.Sprint(escape.Find(s)); one != two {
			t.Errorf("another answer:\n%s\n%s", one, two)
		}
	})
}

// escapes returns the escapes of a schema, one line each: the field, the parent and
// the marker that prevents it.
func escapes(t *testing.T, text string) []string {
	t.Helper()
	var all []string
	for _, e := range escape.Find(schemaOf(t, text)) {
		hole := map[escape.Hole]string{
			escape.OptionalField: "optional", escape.NullableField: "nullable", escape.UntypedField: "untyped",
			escape.EmptyField: "empty", escape.MapKey: "key of", escape.ListItem: "item of",
		}[e.Hole]
		all = append(all, fmt.Sprintf("%s, %s: %s %s, close: %s",
			immutability.Field(e.Field), e.Promise, hole, immutability.Field(e.Parent), e.Close))
	}
	return all
}

func TestEscapesOfMarkers(t *testing.T) {
	const x = `{type: object, properties: {x: {type: string, x-kubernetes-immutable: true}}}`
	for name, test := range map[string]struct {
		schema string
		want   []string
	}{
		"optional parent":   {`{properties: {foo: ` + x + `}}`, []string{`foo.x, immutable: optional foo, close: immutable`}},
		"required parent":   {`{required: [foo], properties: {foo: ` + x + `}}`, nil},
		"required by allOf": {`{allOf: [{required: [foo]}], properties: {foo: ` + x + `}}`, nil},
		"marked at the top": {
			`{properties: {foo: {x-kubernetes-immutable: true, properties: {x: {x-kubernetes-immutable: true}}}}}`, nil,
		},
		"two parents": {
			`{properties: {spec: {type: object, properties: {foo: ` + x + `}}}}`,
			[]string{
				`spec.foo.x, immutable: optional spec, close: immutable`,
				`spec.foo.x, immutable: optional spec.foo, close: immutable`,
			},
		},
		"the inner one": {
			`{required: [spec], properties: {spec: {type: object, properties: {foo: ` + x + `}}}}`,
			[]string{`spec.foo.x, immutable: optional spec.foo, close: immutable`},
		},
		"parent with a default": {
			`{properties: {foo: {type: object, default: {}, properties: {x: {x-kubernetes-immutable: true}}}}}`, nil,
		},
		"default, but nullable": {
			`{properties: {foo: {type: object, nullable: true, default: {}, properties: {x: {x-kubernetes-immutable: true}}}}}`,
			[]string{`foo.x, immutable: nullable foo, close: immutable`},
		},
		"required, but nullable": {
			`{required: [foo], properties: {foo: {type: object, nullable: true, properties: {x: {x-kubernetes-immutable: true}}}}}`,
			[]string{`foo.x, immutable: nullable foo, close: immutable`},
		},
		"required, no type": {
			`{required: [foo], properties: {foo: {properties: {x: {x-kubernetes-immutable: true}}}}}`,
			[]string{`foo.x, immutable: untyped foo, close: immutable`},
		},
		"other markers": {
			`{properties: {foo: {type: object, properties: {m: {additionalProperties: true, x-kubernetes-addition-only: true},
				k: {additionalProperties: true, x-kubernetes-immutable-keys: true}, d: {additionalProperties: true,
				x-kubernetes-deletion-only: true}}}}}`,
			[]string{
				`foo.d, deletion only: optional foo, close: immutable`, `foo.k, immutable keys: optional foo, close: immutable`,
				`foo.m, addition only: optional foo, close: immutable`,
			},
		},

		"no-modify": {
			`{properties: {x: {type: string, x-kubernetes-update: [NoModify]}}}`,
			[]string{`x, no-modify: optional x, close: set-once`},
		},
		"no-modify, required": {
			`{required: [x, nul, l, m, f], properties: {x: {type: string, x-kubernetes-update: [NoModify]},
				nul: {type: string, nullable: true, x-kubernetes-update: [NoModify]},
				l: {type: array, x-kubernetes-update: [NoModify]}, f: {type: array, minItems: 1, x-kubernetes-update: [NoModify]},
				m: {type: object, additionalProperties: true, x-kubernetes-update: [NoModify]}}}`,
			[]string{`l, no-modify: empty l, close: set-once`, `m, no-modify: empty m, close: set-once`, `nul, no-modify: nullable nul, close: set-once`},
		},
		"no-modify with another constraint": {
			`{properties: {a: {x-kubernetes-update: [NoUnset, NoModify]}, b: {x-kubernetes-update: [NoSet, NoModify]},
				c: {x-kubernetes-update: [NoSet]}, d: {x-kubernetes-update: [NoUnset]},
				e: {additionalProperties: true, x-kubernetes-update: [NoModify, NoAddItem]},
				f: {additionalProperties: true, x-kubernetes-update: [NoModify, NoRemoveItem]}}}`, nil,
		},
		"constraints below an optional parent": {
			`{properties: {foo: {type: object, properties: {s: {type: string, x-kubernetes-update: [NoSet]},
				u: {type: string, x-kubernetes-update: [NoUnset]}}}}}`,
			[]string{`foo.s, no-set: optional foo, close: immutable`, `foo.u, no-unset: optional foo, close: immutable`},
		},
		"a parent that stays": {
			`{properties: {foo: {type: object, x-kubernetes-update: [NoUnset], properties: {x: {type: string, x-kubernetes-immutable: true}}},
				bar: {type: object, x-kubernetes-update: [NoSet], properties: {x: {type: string, x-kubernetes-immutable: true}}}}}`, nil,
		},
		"a map that stays, and not its keys": {
			`{properties: {m: {type: object, x-kubernetes-update: [NoUnset], additionalProperties: {type: string, x-kubernetes-immutable: true}}}}`,
			[]string{`m.*, immutable: key of m, close: update=NoUnset,NoRemoveItem`},
		},
		"values of a map": {
			`{properties: {m: {type: object, additionalProperties: {type: string, x-kubernetes-immutable: true}}}}`,
			[]string{`m.*, immutable: key of m, close: addition only`},
		},
		"values of patterns": {
			`{properties: {m: {type: object, patternProperties: {a: {type: string, x-kubernetes-immutable: true}}}}}`,
			[]string{`m.*, immutable: key of m, close: addition only`},
		},
		"values of an atomic map": {
			`{properties: {m: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string,
				x-kubernetes-immutable: true}}}}`,
			[]string{`m.*, immutable: key of m, close: immutable`},
		},
		"values below addition-only keys": {
			`{properties: {m: {type: object, x-kubernetes-addition-only: true, additionalProperties: {type: string,
				x-kubernetes-immutable: true}}}}`,
			nil,
		},
		"values below deletion-only keys": {
			`{properties: {m: {type: object, x-kubernetes-deletion-only: true, additionalProperties: {type: string,
				x-kubernetes-immutable: true}}}}`,
			nil,
		},
		"addition-only keys below an optional field": {
			`{properties: {foo: {type: object, properties: {m: {type: object, x-kubernetes-addition-only: true,
				additionalProperties: {type: string, x-kubernetes-immutable: true}}}}}}`,
			[]string{`foo.m, addition only: optional foo, close: immutable`, `foo.m.*, immutable: optional foo, close: immutable`},
		},
		"items of a list": {
			`{required: [l], properties: {l: {type: array, items: {type: string, x-kubernetes-immutable: true}}}}`,
			[]string{`l[*], immutable: item of l, close: immutable`},
		},
		"items of a list by key": {
			`{properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
				items: {type: object, properties: {name: {x-kubernetes-immutable: true}, x: {x-kubernetes-immutable: true}}}}}}`,
			[]string{`l[*].x, immutable: item of l, close: addition only`},
		},
		"inside an object in items": {
			`{properties: {l: {type: array, items: {type: object, properties: {foo: ` + x + `}}}}}`,
			[]string{
				`l[*].foo.x, immutable: item of l, close: immutable`,
				`l[*].foo.x, immutable: optional l[*].foo, close: immutable`,
			},
		},
		"no promise": {`{properties: {foo: {type: object, properties: {x: {type: string}}}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, escapes(t, test.schema)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The rules are on an optional spec with an optional field x and a required field r.
func TestEscapesOfRules(t *testing.T) {
	const (
		viaSpec = `, immutable: optional spec, close: immutable`
		viaX    = `spec.x, immutable: optional spec.x, close: immutable`
	)
	for rule, want := range map[string][]string{
		"self.r == oldSelf.r":                        {`spec.r` + viaSpec},
		"oldSelf.r == self.r":                        {`spec.r` + viaSpec},
		"!(self.r != oldSelf.r)":                     {`spec.r` + viaSpec},
		"self['r'] == oldSelf['r']":                  {`spec.r` + viaSpec},
		"self == oldSelf":                            {`spec` + viaSpec},
		"self.r == oldSelf.r && self.x == oldSelf.x": {`spec.r` + viaSpec, `spec.x` + viaSpec},
		"self.r == oldSelf.r || self.x == oldSelf.x": nil,
		"self.r == oldSelf.r || self.free":           nil,
		"self.r != oldSelf.r":                        nil,
		"self.r == 'a'":                              nil,
		"self.r >= oldSelf.r":                        nil,

		// A rule that fails if x is absent protects x; one that allows absence does not.
		"self.x == oldSelf.x":                                                    {`spec.x` + viaSpec},
		"!has(oldSelf.x) || self.x == oldSelf.x":                                 {`spec.x` + viaSpec},
		"!has(oldSelf.x) || has(self.x) && self.x == oldSelf.x":                  {`spec.x` + viaSpec},
		"has(oldSelf.x) ? self.x == oldSelf.x : true":                            {`spec.x` + viaSpec},
		"has(self.x) == has(oldSelf.x) && (!has(self.x) || self.x == oldSelf.x)": {`spec.x` + viaSpec},
		"!has(self.x) || !has(oldSelf.x) || self.x == oldSelf.x":                 {`spec.x` + viaSpec, viaX},
		"!has(self.x) || self.x == oldSelf.x":                                    {`spec.x` + viaSpec},
		"has(self.x) && has(oldSelf.x) ? self.x == oldSelf.x : true":             {`spec.x` + viaSpec, viaX},
		"!(has(self.x) && has(oldSelf.x)) || oldSelf.x == self.x":                {`spec.x` + viaSpec, viaX},
		"self.?x == oldSelf.?x":                                                  {`spec.x` + viaSpec},
		"self.?x.orValue('') == oldSelf.?x.orValue('')":                          {`spec.x` + viaSpec},
		"!has(oldSelf.o) || !has(self.o) || self.o.p == oldSelf.o.p": {
			`spec.o.p` + viaSpec, `spec.o.p, immutable: optional spec.o, close: immutable`,
		},
		"!has(oldSelf.o) || self.o.p == oldSelf.o.p": {`spec.o.p` + viaSpec},

		// Keys and items.
		"oldSelf.s.all(i, i in self.s)":                                      {`spec.s, addition only: optional spec, close: immutable`},
		"self.s.all(i, i in oldSelf.s)":                                      {`spec.s, deletion only: optional spec, close: immutable`},
		"self.s.all(i, i in oldSelf.s) && oldSelf.s.all(i, i in self.s)":     {`spec.s, immutable keys: optional spec, close: immutable`},
		"size(self.s) == size(oldSelf.s)":                                    nil,
		"self.s.size() == oldSelf.s.size() && self.s.all(i, i in oldSelf.s)": {`spec.s, immutable keys: optional spec, close: immutable`},
		"self.s.all(i, oldSelf.s.exists(o, o == i))":                         {`spec.s, deletion only: optional spec, close: immutable`},
		"oldSelf.s.all(o, self.s.exists(i, i.name == o.name && i.v == o.v))": {`spec.s, addition only: optional spec, close: immutable`},
		"oldSelf.s.all(o, self.s.exists(i, i.size() > 1))":                   nil,
		"sets.contains(self.s, oldSelf.s)":                                   {`spec.s, addition only: optional spec, close: immutable`},
		"sets.contains(oldSelf.s, self.s)":                                   {`spec.s, deletion only: optional spec, close: immutable`},
		"sets.equivalent(self.s, oldSelf.s)":                                 {`spec.s, immutable keys: optional spec, close: immutable`},
		"oldSelf.m.all(k, k in self.m && self.m[k] == oldSelf.m[k])": {
			`spec.m, addition only: optional spec, close: immutable`, `spec.m.*` + viaSpec,
		},
		"oldSelf.m.all(k, !(k in self.m) || self.m[k] == oldSelf.m[k])": {
			`spec.m.*` + viaSpec, `spec.m.*, immutable: key of spec.m, close: addition only`,
		},

		"this is no rule (":         nil,
		"self.gone == oldSelf.gone": nil,
	} {
		t.Run(rule, func(t *testing.T) {
			text := fmt.Sprintf(`{properties: {spec: {type: object, required: [r, s, m],
				x-kubernetes-validations: [{rule: %q}], properties: {
				r: {type: string}, x: {type: string}, free: {type: boolean},
				o: {type: object, required: [p], properties: {p: {type: string}}},
				s: {type: array, x-kubernetes-list-type: set, items: {type: string}},
				m: {type: object, additionalProperties: {type: string}}}}}}`, rule)
			if diff := cmp.Diff(want, escapes(t, text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEscapesOfSeveralRules(t *testing.T) {
	for name, test := range map[string]struct {
		schema string
		want   []string
	}{
		"rule on an optional field": {
			`{properties: {x: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}`,
			[]string{`x, immutable: optional x, close: immutable`},
		},
		"rule on a required field": {
			`{required: [x], properties: {x: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}`, nil,
		},
		"rule and marker": {
			`{properties: {x: {type: string, x-kubernetes-immutable: true, x-kubernetes-validations: [{rule: self == oldSelf}]}}}`,
			nil,
		},
		"rule on an optional map": {
			`{properties: {m: {type: object, additionalProperties: {type: string},
				x-kubernetes-validations: [{rule: "oldSelf.all(k, k in self)"}]}}}`,
			[]string{`m, addition only: optional m, close: addition only`},
		},
		"rule on an optional set": {
			`{properties: {s: {type: array, x-kubernetes-list-type: set, items: {type: string},
				x-kubernetes-validations: [{rule: "sets.equivalent(self, oldSelf)"}]}}}`,
			[]string{`s, immutable keys: optional s, close: immutable`},
		},
		"rule on an optional list": {
			`{properties: {l: {type: array, items: {type: string}, x-kubernetes-validations: [{rule: "oldSelf.all(x, x in self)"}]}}}`,
			[]string{`l, addition only: optional l, close: immutable`},
		},
		"optional old value": {
			`{properties: {x: {type: string, x-kubernetes-validations: [{rule: "!oldSelf.hasValue() || self == oldSelf.value()",
				optionalOldSelf: true}]}}}`,
			[]string{`x, immutable: optional x, close: immutable`},
		},
		"rule on the parent forbids removing": {
			`{required: [spec], properties: {spec: {type: object,
				x-kubernetes-validations: [{rule: "!has(oldSelf.x) || has(self.x)"}],
				properties: {x: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}}}`,
			nil,
		},
		"rule on the parent forbids adding": {
			`{required: [spec], properties: {spec: {type: object,
				x-kubernetes-validations: [{rule: "has(self.x) == has(oldSelf.x)"}],
				properties: {x: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}}}`,
			nil,
		},
		"rule on the root forbids removing": {
			`{required: [spec],
				x-kubernetes-validations: [{rule: "!has(oldSelf.spec.x) || has(self.spec.x)"}], properties: {spec: {type: object,
				properties: {x: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}}}`,
			nil,
		},
		"rule that absence passes": {
			`{x-kubernetes-validations: [{rule: "self.?x.orValue('') != 'b'"}], properties: {x: {type: string,
				x-kubernetes-validations: [{rule: self == oldSelf}]}}}`,
			[]string{`x, immutable: optional x, close: immutable`},
		},
		"rule that absence fails": {
			`{x-kubernetes-validations: [{rule: "self.x.size() < 5 && self.x != 'b'"}], properties: {x: {type: string,
				x-kubernetes-validations: [{rule: self == oldSelf}]}}}`, nil,
		},
		"rule requires it": {
			`{x-kubernetes-validations: [{rule: has(self.x)}], properties: {x: {type: string,
				x-kubernetes-validations: [{rule: self == oldSelf}]}}}`,
			nil,
		},
		"rule around a marker": {
			`{x-kubernetes-validations: [{rule: "!has(oldSelf.foo) || has(self.foo)"}], properties: {foo: {type: object,
				properties: {x: {x-kubernetes-immutable: true}}}}}`,
			nil,
		},
		"rule keeps keys, map can be removed": {
			`{properties: {m: {type: object, x-kubernetes-validations: [{rule: "oldSelf.all(k, k in self)"}],
				additionalProperties: {type: string, x-kubernetes-immutable: true}}}}`,
			[]string{`m, addition only: optional m, close: addition only`, `m.*, immutable: optional m, close: addition only`},
		},
		"rule keeps keys, map must stay": {
			`{required: [m], properties: {m: {type: object, x-kubernetes-validations: [{rule: "oldSelf.all(k, k in self)"}],
				additionalProperties: {type: string, x-kubernetes-immutable: true}}}}`,
			nil,
		},
		"name that CEL does not take": {
			`{x-kubernetes-validations: [{rule: "self.a__dash__b == oldSelf.a__dash__b && self.__namespace__ == ` +
				`oldSelf.__namespace__"}], properties: {a-b: {type: string}, namespace: {type: string}}}`,
			nil,
		},
		"name that CEL does not take, open": {
			`{x-kubernetes-validations: [{rule: "!has(self.a__dash__b) || !has(oldSelf.a__dash__b) || self.a__dash__b == ` +
				`oldSelf.a__dash__b"}], properties: {a-b: {type: string}}}`,
			[]string{`a-b, immutable: optional a-b, close: immutable`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, escapes(t, test.schema)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEscapeText(t *testing.T) {
	var got []string
	for _, e := range escape.Find(schemaOf(t, `{properties: {
		foo: {type: object, properties: {x: {type: string, x-kubernetes-immutable: true}}},
		l: {type: array, items: {type: string, x-kubernetes-immutable: true}},
		m: {type: object, additionalProperties: {type: string, x-kubernetes-immutable: true}},
		z: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}`)) {
		got = append(got, e.String())
	}
	want := []string{
		`foo.x: immutable, but foo is optional: it can be removed and then set again with another value; ` +
			`x-kubernetes-immutable on foo closes this, and so does making it required`,
		`l[*]: immutable, but an item of l can be removed and then set again with another value; x-kubernetes-immutable on l closes this`,
		`m.*: immutable, but a key of m can be removed and then set again with another value; x-kubernetes-addition-only on m closes this`,
		`z: immutable by the rule "self == oldSelf", but z is optional: it can be removed and then set again with another ` +
			`value; x-kubernetes-immutable on z closes this, and so does making it required`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
