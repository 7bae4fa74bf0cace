package immutability_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/immutability"
)

// warnings returns the texts of findings.
func warnings[T fmt.Stringer](findings []T) []string {
	var all []string
	for _, f := range findings {
		all = append(all, f.String())
	}
	return all
}

func TestWeakened(t *testing.T) {
	const (
		immutable = `{properties: {a: {additionalProperties: {properties: {b: {}}}, x-kubernetes-immutable: true}}}`
		keys      = `{properties: {a: {additionalProperties: {properties: {b: {}}}, x-kubernetes-immutable-keys: true}}}`
		addition  = `{properties: {a: {additionalProperties: {properties: {b: {}}}, x-kubernetes-addition-only: true}}}`
		deletion  = `{properties: {a: {additionalProperties: {properties: {b: {}}}, x-kubernetes-deletion-only: true}}}`
		free      = `{properties: {a: {additionalProperties: {properties: {b: {}}}}}}`
		inner     = `{properties: {a: {additionalProperties: {properties: {b: {x-kubernetes-immutable: true}}}}}}`
	)
	for name, test := range map[string]struct {
		old, new string
		want     []string
	}{
		"nothing": {immutable, immutable, nil},
		"gone":    {immutable, free, []string{`a: x-kubernetes-immutable is gone, so it may change from now on`}},
		"keys for all": {
			immutable, keys, []string{`a: x-kubernetes-immutable became x-kubernetes-immutable-keys, which promises less`},
		},
		"half of keys": {
			keys, addition, []string{`a: x-kubernetes-immutable-keys became x-kubernetes-addition-only, which promises less`},
		},
		"the other half": {
			addition, deletion, []string{`a: x-kubernetes-addition-only became x-kubernetes-deletion-only, which promises less`},
		},
		"stronger":                {addition, keys, nil},
		"strongest":               {keys, immutable, nil},
		"new":                     {free, addition, nil},
		"covered":                 {inner, immutable, nil},
		"no longer covered":       {immutable, inner, []string{`a: x-kubernetes-immutable is gone, so it may change from now on`}},
		"below a map":             {inner, free, []string{`a.*.b: x-kubernetes-immutable is gone, so it may change from now on`}},
		"the node is removed too": {immutable, `{properties: {c: {}}}`, nil},
		"one per path": {
			`{properties: {b: {items: {x-kubernetes-immutable: true}}, a.b: {x-kubernetes-immutable: true},
				c: {items: [{x-kubernetes-immutable: true}]}}}`, `{properties: {b: {items: {}}, a.b: {}, c: {items: [{}]}}}`,
			[]string{
				`["a.b"]: x-kubernetes-immutable is gone, so it may change from now on`,
				`b[*]: x-kubernetes-immutable is gone, so it may change from now on`,
				`c[*]: x-kubernetes-immutable is gone, so it may change from now on`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := warnings(immutability.Weakened(schemaOf(t, test.old), schemaOf(t, test.new)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDivergent(t *testing.T) {
	const (
		outer = `{properties: {spec: {x-kubernetes-immutable: true, properties: {a: {}}}}}`
		both  = `{properties: {spec: {x-kubernetes-immutable: true, properties: {a: {x-kubernetes-immutable: true}}}}}`
		inner = `{properties: {spec: {properties: {a: {x-kubernetes-immutable: true}}}}}`
		none  = `{properties: {spec: {properties: {b: {}}}}}`
	)
	const open = `{properties: {spec: {properties: {a: {}}}}}`
	for name, test := range map[string]struct {
		v1, v2 string
		want   []string
	}{
		"equal":         {inner, inner, nil},
		"redundant":     {outer, both, nil},
		"one only":      {inner, none, []string{`spec.a: immutable in v1, free in v2; the strictest holds in every version`}},
		"other one":     {none, inner, []string{`spec.a: free in v1, immutable in v2; the strictest holds in every version`}},
		"reported once": {outer, open, []string{`spec: immutable in v1, free in v2; the strictest holds in every version`}},
		"covered":       {outer, inner, []string{`spec: immutable in v1, free in v2; the strictest holds in every version`}},
		"other marker": {
			`{properties: {m: {additionalProperties: true, x-kubernetes-addition-only: true}}}`, `{properties: {m: ` +
				`{additionalProperties: true, x-kubernetes-deletion-only: true}}}`,
			[]string{`m: addition only in v1, deletion only in v2; the strictest holds in every version`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := warnings(immutability.Divergent([]immutability.Version{
				{Name: "v1", Schema: schemaOf(t, test.v1)},
				{Name: "v2", Schema: schemaOf(t, test.v2)},
			}))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatusTraps(t *testing.T) {
	const once = ` under status: it can only be set by the write that sets the status for the first time`
	for name, test := range map[string]struct {
		schema string
		want   []string
	}{
		"field": {
			`{properties: {status: {properties: {id: {x-kubernetes-immutable: true}}}}}`, []string{`status.id: immutable` + once},
		},
		"keys": {
			`{properties: {status: {properties: {m: {additionalProperties: true, x-kubernetes-immutable-keys: true}}}}}`,
			[]string{`status.m: immutable keys` + once},
		},
		"addition only": {
			`{properties: {status: {properties: {m: {additionalProperties: true, x-kubernetes-addition-only: true}}}}}`, nil,
		},
		"required parent": {
			`{properties: {status: {required: [a], properties: {a: {properties: {id: {x-kubernetes-immutable: true}}}}}}}`,
			[]string{`status.a.id: immutable` + once},
		},
		"optional parent": {`{properties: {status: {properties: {a: {properties: {id: {x-kubernetes-immutable: true}}}}}}}`, nil},
		"in a list": {
			`{properties: {status: {required: [l], properties: {l: {items: {properties: {id: {x-kubernetes-immutable: true}}}}}}}}`,
			nil,
		},
		"whole status": {
			`{properties: {status: {x-kubernetes-immutable: true}}}`,
			[]string{`status: immutable: it can never be set, because no object has it when it is created`},
		},
		"elsewhere": {`{properties: {spec: {properties: {status: {x-kubernetes-immutable: true}}}, status: {}}}`, nil},
		"no status": {`{properties: {spec: {x-kubernetes-immutable: true}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := warnings(immutability.StatusTraps(schemaOf(t, test.schema)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPolicyEqual(t *testing.T) {
	schemas := map[string]string{
		"none":        `{properties: {a: {type: string}}}`,
		"immutable":   `{properties: {a: {x-kubernetes-immutable: true}}}`,
		"other place": `{properties: {b: {x-kubernetes-immutable: true}}}`,
		"keys":        `{properties: {a: {additionalProperties: true, x-kubernetes-immutable-keys: true}}}`,
		"addition":    `{properties: {a: {additionalProperties: true, x-kubernetes-addition-only: true}}}`,
		"values":      `{properties: {a: {additionalProperties: {x-kubernetes-immutable: true}}}}`,
		"pattern":     `{properties: {a: {patternProperties: {x: {x-kubernetes-immutable: true}}}}}`,
		"pattern too": `{properties: {a: {patternProperties: {z: {x-kubernetes-immutable: true}}}}}`,
		"items":       `{properties: {a: {items: {x-kubernetes-immutable: true}}}}`,
		"by position": `{properties: {a: {items: [{x-kubernetes-immutable: true}]}}}`,
		"set in it":   `{properties: {a: {x-kubernetes-immutable: true, properties: {s: {x-kubernetes-list-type: set}}}}}`,
		"list by key": `{properties: {a: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b],
			items: {x-kubernetes-immutable: true}}}}`,
		"list by keys": `{properties: {a: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b, c],
			items: {x-kubernetes-immutable: true}}}}`,
	}
	for one, first := range schemas {
		for two, second := range schemas {
			if got := compile(t, first).Equal(compile(t, second)); got != (one == two) {
				t.Errorf("%s and %s: %v", one, two, got)
			}
		}
	}
	same := compile(t, `{description: x, properties: {a: {description: x, x-kubernetes-immutable: true}, z: {type: string}}}`)
	if !same.Equal(compile(t, schemas["immutable"])) {
		t.Error("what is not marked counts")
	}
	redundant := compile(t, `{properties: {a: {x-kubernetes-immutable: true, properties: {b: {x-kubernetes-immutable: true}}}}}`)
	if !redundant.Equal(compile(t, schemas["immutable"])) {
		t.Error("a marker below an immutable node counts")
	}
}

func TestCompileRefuses(t *testing.T) {
	_, err := immutability.Compile(schemaOf(t, `{properties: {a: {patternProperties: {"(": {x-kubernetes-immutable: true}}}}}`))
	const want = "properties[a].patternProperties[(]: is no regular expression: error parsing regexp: missing closing ): `(`"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
