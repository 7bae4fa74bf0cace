package immutability_test

import "testing"

func TestCheckMaps(t *testing.T) {
	const (
		fixed    = `{properties: {m: {type: object, x-kubernetes-immutable-keys: true, additionalProperties: {type: string}}}}`
		growing  = `{properties: {m: {type: object, x-kubernetes-addition-only: true, additionalProperties: {type: string}}}}`
		dwindle  = `{properties: {m: {type: object, x-kubernetes-deletion-only: true, additionalProperties: {type: string}}}}`
		values   = `{properties: {m: {type: object, additionalProperties: {type: string, x-kubernetes-immutable: true}}}}`
		patterns = `{properties: {m: {patternProperties: {
			"^a": {properties: {x: {x-kubernetes-immutable: true}}},
			"z$": {properties: {w: {x-kubernetes-immutable: true}, x: {x-kubernetes-immutable: true}}}}}}}`
	)
	for name, test := range map[string]update{
		"keys: value changes": {fixed, `{m: {a: x}}`, `{m: {a: w}}`, nil},
		"keys: added":         {fixed, `{m: {a: x}}`, `{m: {a: x, b: w}}`, []string{`m.b: field is immutable: immutable keys: added "w"`}},
		"keys: removed":       {fixed, `{m: {a: x, b: w}}`, `{m: {a: z}}`, []string{`m.b: field is immutable: immutable keys: removed "w"`}},
		"keys: sorted": {
			fixed, `{m: {d: 1, a: 1}}`, `{m: {c: 1, b: 1}}`,
			[]string{
				`m.a: field is immutable: immutable keys: removed 1`,
				`m.b: field is immutable: immutable keys: added 1`,
				`m.c: field is immutable: immutable keys: added 1`,
				`m.d: field is immutable: immutable keys: removed 1`,
			},
		},
		"keys: map removed":          {fixed, `{m: {a: x}}`, `{}`, []string{`m.a: field is immutable: immutable keys: removed "x"`}},
		"keys: map is null":          {fixed, `{m: {a: x}}`, `{m: null}`, []string{`m.a: field is immutable: immutable keys: removed "x"`}},
		"keys: map added":            {fixed, `{}`, `{m: {a: x}}`, []string{`m.a: field is immutable: immutable keys: added "x"`}},
		"keys: absent to empty":      {fixed, `{}`, `{m: {}}`, nil},
		"keys: empty to absent":      {fixed, `{m: {}}`, `{}`, nil},
		"keys: empty to null":        {fixed, `{m: {}}`, `{m: null}`, nil},
		"keys: map becomes a string": {fixed, `{m: {a: x}}`, `{m: x}`, []string{`m.a: field is immutable: immutable keys: removed "x"`}},

		"field is immutable: addition only: added":   {growing, `{m: {a: x}}`, `{m: {a: w, b: x}}`, nil},
		"addition only: map added":                   {growing, `{}`, `{m: {a: w}}`, nil},
		"field is immutable: addition only: removed": {growing, `{m: {a: x}}`, `{m: {b: x}}`, []string{`m.a: field is immutable: addition only: removed "x"`}},
		"addition only: map removed":                 {growing, `{m: {a: x}}`, `{}`, []string{`m.a: field is immutable: addition only: removed "x"`}},

		"field is immutable: deletion only: removed": {dwindle, `{m: {a: x, b: x}}`, `{m: {a: w}}`, nil},
		"deletion only: map removed":                 {dwindle, `{m: {a: x}}`, `{}`, nil},
		"field is immutable: deletion only: added":   {dwindle, `{m: {a: x}}`, `{m: {a: x, b: w}}`, []string{`m.b: field is immutable: deletion only: added "w"`}},
		"deletion only: map added":                   {dwindle, `{}`, `{m: {b: w}}`, []string{`m.b: field is immutable: deletion only: added "w"`}},

		"values: keys added and removed": {values, `{m: {a: x, b: w}}`, `{m: {b: w, c: z}}`, nil},
		"values: fixed": {
			values, `{m: {a: x, b: w, c: z}}`, `{m: {c: 1, b: w, a: 2}}`,
			[]string{`m.a: field is immutable: changed from "x" to 2`, `m.c: field is immutable: changed from "z" to 1`},
		},
		"values: null is a value": {values, `{m: {a: x}}`, `{m: {a: null}}`, []string{`m.a: field is immutable: changed from "x" to null`}},

		"patterns: one": {
			patterns, `{m: {ab: {x: 1, w: 1}}}`, `{m: {ab: {x: 2, w: 2}}}`, []string{`m.ab.x: field is immutable: changed from 1 to 2`},
		},
		"patterns: every one holds": {
			patterns, `{m: {az: {x: 1, w: 1}}}`, `{m: {az: {x: 2, w: 2}}}`,
			[]string{`m.az.x: field is immutable: changed from 1 to 2`, `m.az.w: field is immutable: changed from 1 to 2`},
		},
		"patterns: none": {patterns, `{m: {b: {x: 1, w: 1}}}`, `{m: {b: {x: 2, w: 2}}}`, nil},
		"patterns: keys": {
			`{properties: {m: {x-kubernetes-immutable-keys: true, patternProperties: {"^a": {}}}}}`,
			`{m: {a: 1}}`, `{m: {a: 2, b: 1}}`,
			[]string{`m.b: field is immutable: immutable keys: added 1`},
		},
		"patterns agree on a set": {
			`{properties: {m: {x-kubernetes-immutable: true, patternProperties: {
			"^a": {x-kubernetes-list-type: set}, "z$": {x-kubernetes-list-type: set}}}}}`,
			`{m: {az: [1, 2]}}`, `{m: {az: [2, 1]}}`, nil,
		},
		"patterns disagree on a set": {
			`{properties: {m: {x-kubernetes-immutable: true, patternProperties: {
			"^a": {x-kubernetes-list-type: set}, "z$": {}}}}}`,
			`{m: {az: [1, 2], a: [1, 2]}}`, `{m: {az: [2, 1], a: [2, 1]}}`,
			[]string{`m.az: field is immutable: reordered from [1,2] to [2,1]`},
		},
		"values below keys": {
			`{properties: {m: {x-kubernetes-addition-only: true,
				additionalProperties: {properties: {x: {x-kubernetes-immutable: true}}}}}}`,
			`{m: {a: {x: 1}, c: {}}}`, `{m: {a: {x: 2}, b: {x: 1}}}`,
			[]string{`m.a.x: field is immutable: changed from 1 to 2`, `m.c: field is immutable: addition only: removed {}`},
		},
	} {
		t.Run(name, test.run)
	}
}

func TestCheckMapLists(t *testing.T) {
	const (
		head    = `{properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], `
		items   = `items: {properties: {name: {type: string, x-kubernetes-immutable: true}, x: {}, w: {}}}}}}`
		fixed   = head + `x-kubernetes-immutable-keys: true, ` + items
		growing = head + `x-kubernetes-addition-only: true, ` + items
		dwindle = head + `x-kubernetes-deletion-only: true, ` + items
		values  = head + `items: {x-kubernetes-immutable: true, properties: {name: {type: string}}}}}}`
		whole   = head + `x-kubernetes-immutable: true, items: {properties: {name: {type: string}}}}}}`
		twoKeys = `{properties: {ports: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port, protocol],
			items: {properties: {target: {x-kubernetes-immutable: true}}}}}}`
		port = `{properties: {spec: {properties: {ports: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
			items: {properties: {port: {x-kubernetes-immutable: true}}}}}}}}`
	)
	for name, test := range map[string]update{
		"path": {
			port, `{spec: {ports: [{name: http, port: 80}]}}`, `{spec: {ports: [{name: http, port: 81}]}}`,
			[]string{`spec.ports[name="http"].port: field is immutable: changed from 80 to 81`},
		},
		"keys: values change": {fixed, `{l: [{name: a, x: 1}]}`, `{l: [{name: a, x: 2}]}`, nil},
		"keys: order is free": {fixed, `{l: [{name: a}, {name: b, x: 1}]}`, `{l: [{name: b, x: 2}, {name: a}]}`, nil},
		"keys: added, removed": {
			fixed, `{l: [{name: a}, {name: b}]}`, `{l: [{name: c}, {name: b}]}`,
			[]string{`l[name="a"]: field is immutable: immutable keys: removed {"name":"a"}`, `l[name="c"]: field is immutable: immutable keys: added {"name":"c"}`},
		},
		"keys: list removed":  {fixed, `{l: [{name: a}]}`, `{}`, []string{`l[name="a"]: field is immutable: immutable keys: removed {"name":"a"}`}},
		"keys: list added":    {fixed, `{l: null}`, `{l: [{name: a}]}`, []string{`l[name="a"]: field is immutable: immutable keys: added {"name":"a"}`}},
		"keys: empty, absent": {fixed, `{l: []}`, `{}`, nil},

		"field is immutable: addition only: added":   {growing, `{l: [{name: a}]}`, `{l: [{name: b}, {name: a, x: 1}]}`, nil},
		"field is immutable: addition only: removed": {growing, `{l: [{name: a}]}`, `{l: []}`, []string{`l[name="a"]: field is immutable: addition only: removed {"name":"a"}`}},
		"field is immutable: deletion only: removed": {dwindle, `{l: [{name: a}]}`, `{}`, nil},
		"field is immutable: deletion only: added":   {dwindle, `{l: []}`, `{l: [{name: a}]}`, []string{`l[name="a"]: field is immutable: deletion only: added {"name":"a"}`}},

		"values: items added and removed": {values, `{l: [{name: a, x: 1}, {name: b, x: 1}]}`, `{l: [{name: c}, {name: b, x: 1}]}`, nil},
		"values: fixed, any order": {
			values, `{l: [{name: a, x: 1}, {name: b, x: 1}]}`, `{l: [{name: b, x: 2}, {name: a, x: 1}]}`,
			[]string{`l[name="b"].x: field is immutable: changed from 1 to 2`},
		},

		"whole: by key": {
			whole, `{l: [{name: a, x: 1}, {name: b}]}`, `{l: [{name: a, x: 2}, {name: b}]}`,
			[]string{`l[name="a"].x: field is immutable: changed from 1 to 2`},
		},
		"whole: order counts": {
			whole, `{l: [{name: a}, {name: b}]}`, `{l: [{name: b}, {name: a}]}`,
			[]string{`l: field is immutable: reordered from [{"name":"a"},{"name":"b"}] to [{"name":"b"},{"name":"a"}]`},
		},
		"whole: insertion only": {
			whole, `{l: [{name: a}, {name: b}]}`, `{l: [{name: a}, {name: c}, {name: b}]}`,
			[]string{`l[name="c"]: field is immutable: added {"name":"c"}`},
		},

		"two keys": {
			twoKeys, `{ports: [{port: 1, protocol: TCP, target: 1}, {port: 1, protocol: UDP, target: 2}]}`,
			`{ports: [{port: 1, protocol: UDP, target: 1}, {port: 1, protocol: TCP, target: 1}]}`,
			[]string{`ports[port=1,protocol="UDP"].target: field is immutable: changed from 2 to 1`},
		},
		"absent key is a key": {
			twoKeys, `{ports: [{port: 1, target: 1}, {port: 1, protocol: TCP, target: 2}]}`,
			`{ports: [{port: 1, protocol: TCP, target: 2}, {port: 1, target: 3}]}`,
			[]string{`ports[port=1].target: field is immutable: changed from 1 to 3`},
		},
		"null key is no absence": {twoKeys, `{ports: [{port: 1, protocol: null, target: 1}]}`, `{ports: [{port: 1, target: 2}]}`, nil},
		"equal keys, two forms": {
			twoKeys, `{ports: [{port: 1.0, protocol: A, target: 1}, {port: 2, target: 1}]}`,
			`{ports: [{port: 2.0, target: 2}, {port: 1, protocol: A, target: 1}]}`,
			[]string{`ports[port=2].target: field is immutable: changed from 1 to 2`},
		},
		"duplicate keys pair in order": {
			twoKeys, `{ports: [{port: 1, target: 1}, {port: 2, target: 0}, {port: 1, target: 2}]}`, `{ports: [{port: 2, ` +
				`target: 0}, {port: 1, target: 1}, {port: 1, target: 3}]}`,
			[]string{`ports[port=1,#2].target: field is immutable: changed from 2 to 3`},
		},
		"items that are no objects": {fixed, `{l: [1, 2]}`, `{l: [3]}`, []string{`l[#2]: field is immutable: immutable keys: removed 2`}},
	} {
		t.Run(name, test.run)
	}
}

func TestCheckSets(t *testing.T) {
	const (
		head    = `{properties: {s: {type: array, x-kubernetes-list-type: set, `
		items   = `items: {type: object, properties: {x: {type: string}, w: {type: integer}}}}}}`
		fixed   = head + `x-kubernetes-immutable: true, ` + items
		growing = head + `x-kubernetes-addition-only: true, ` + items
		dwindle = head + `x-kubernetes-deletion-only: true, ` + items
		deep    = `{properties: {o: {x-kubernetes-immutable: true, properties: {s: {x-kubernetes-list-type: set},
			l: {items: {properties: {s: {x-kubernetes-list-type: set}}}}}}}}`
		nested = `{properties: {s: {x-kubernetes-list-type: set, x-kubernetes-addition-only: true,
			items: {properties: {t: {x-kubernetes-list-type: set}, l: {}}}}}}`
	)
	for name, test := range map[string]update{
		"order is free": {fixed, `{s: [{x: abc}, {x: def, w: 1}]}`, `{s: [{x: def, w: 1}, {x: abc}]}`, nil},
		"item changes": {
			fixed, `{s: [{x: abc}, {x: def, w: 1}]}`, `{s: [{x: def, w: 2}, {x: abc}]}`,
			[]string{`s[1]: field is immutable: removed {"w":1,"x":"def"}`, `s[0]: field is immutable: added {"w":2,"x":"def"}`},
		},
		"multiset": {
			fixed, `{s: [a, a, b]}`, `{s: [a, b, b]}`, []string{`s[="a"]: field is immutable: removed "a"`, `s[="b"]: field is immutable: added "b"`},
		},
		"absent is not empty": {fixed, `{s: []}`, `{}`, []string{`s: field is immutable: removed []`}},
		"numbers":             {fixed, `{s: [1, 2]}`, `{s: [2.0, 1.0]}`, nil},
		"field is immutable: addition only: added":   {growing, `{s: [a]}`, `{s: [b, a]}`, nil},
		"field is immutable: addition only: removed": {growing, `{s: [b, a]}`, `{s: [a, c]}`, []string{`s[="b"]: field is immutable: addition only: removed "b"`}},
		"addition only: set removed":                 {growing, `{s: [b]}`, `{s: null}`, []string{`s[="b"]: field is immutable: addition only: removed "b"`}},
		"field is immutable: deletion only: removed": {dwindle, `{s: [a, b]}`, `{s: [b]}`, nil},
		"deletion only: set added":                   {dwindle, `{}`, `{s: [b]}`, []string{`s[="b"]: field is immutable: deletion only: added "b"`}},
		"deletion only: twice":                       {dwindle, `{s: [b]}`, `{s: [b, b]}`, []string{`s[="b"]: field is immutable: deletion only: added "b"`}},
		"unmarked": {
			head + `items: {properties: {x: {x-kubernetes-immutable: true}}}}, z: {x-kubernetes-immutable: true}}}`,
			`{s: [{x: 1}]}`, `{s: [{x: 2}]}`, nil,
		},
		"at any depth": {deep, `{o: {s: [1, 2], l: [{s: [1, 2]}]}}`, `{o: {s: [2, 1], l: [{s: [2, 1]}]}}`, nil},
		"at any depth, changed": {
			deep, `{o: {s: [1, 2], l: [{s: [1, 2]}]}}`, `{o: {s: [2, 1], l: [{s: [2, 3]}]}}`,
			[]string{`o.l[0].s[=1]: field is immutable: removed 1`, `o.l[0].s[=3]: field is immutable: added 3`},
		},
		"set in a set": {nested, `{s: [{t: [1, 2]}, {t: [3, 4]}]}`, `{s: [{t: [4, 3]}, {t: [2, 1]}]}`, nil},
		"list in a set": {
			nested, `{s: [{l: [1, 2]}]}`, `{s: [{l: [2, 1]}]}`, []string{`s[0]: field is immutable: addition only: removed {"l":[1,2]}`},
		},
		"null, false, 0 and empty": {
			fixed, `{s: [null, false, 0, "", [], {}]}`, `{s: [{}, [], "", 0, false]}`,
			[]string{`s[=null]: field is immutable: removed null`},
		},
	} {
		t.Run(name, test.run)
	}
}

func TestCheckOtherLists(t *testing.T) {
	const (
		items     = `{properties: {foo: {type: array, items: {type: string, x-kubernetes-immutable: true}}}}`
		positions = `{properties: {foo: {items: [{}, {x-kubernetes-immutable: true}],
			additionalItems: {properties: {a: {x-kubernetes-immutable: true}}}}}}`
		inside     = `{properties: {foo: {items: {properties: {a: {x-kubernetes-immutable: true}}}}}}`
		preserved  = `{properties: {foo: {x-kubernetes-preserve-unknown-fields: true, properties: {a: {x-kubernetes-immutable: true}}}}}`
		properties = `{properties: {foo: {properties: {b: {x-kubernetes-immutable: true}},
			additionalProperties: {x-kubernetes-immutable: true}}}}`
	)
	for name, test := range map[string]update{
		"grows":              {items, `{foo: [a]}`, `{foo: [a, b]}`, nil},
		"shrinks":            {items, `{foo: [a, b]}`, `{foo: [a]}`, nil},
		"by index":           {items, `{foo: [a, b]}`, `{foo: [b, b]}`, []string{`foo[0]: field is immutable: changed from "a" to "b"`}},
		"first item removed": {items, `{foo: [a, b]}`, `{foo: [b]}`, []string{`foo[0]: field is immutable: changed from "a" to "b"`}},
		"inside an item": {
			inside, `{foo: [{a: 1, b: 1}]}`, `{foo: [{a: 2, b: 2}]}`, []string{`foo[0].a: field is immutable: changed from 1 to 2`},
		},
		"by position": {
			positions, `{foo: [1, 1, {a: 1}]}`, `{foo: [2, 2, {a: 2}]}`,
			[]string{`foo[1]: field is immutable: changed from 1 to 2`, `foo[2].a: field is immutable: changed from 1 to 2`},
		},
		"unknown fields": {preserved, `{foo: {a: 1, b: 1}}`, `{foo: {a: 2, b: 2}}`, []string{`foo.a: field is immutable: changed from 1 to 2`}},
		"properties and rest": {
			properties, `{foo: {b: 1, c: 1, d: 1}}`, `{foo: {c: 2, e: 1}}`,
			[]string{`foo.b: field is immutable: removed 1`, `foo.c: field is immutable: changed from 1 to 2`},
		},
	} {
		t.Run(name, test.run)
	}
}
