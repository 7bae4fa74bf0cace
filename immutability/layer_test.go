package immutability_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/schema"
)

// layered compiles rules for a schema of a boat.
func layered(t testing.TB, rules string) *immutability.Policy {
	t.Helper()
	s, _, err := schema.Decode(yamltest.Value(t, `{type: object, properties: {spec: {type: object, properties: {
		size: {type: string}, crew: {type: object, additionalProperties: {type: string}},
		sails: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, properties: {
			name: {type: string}, area: {type: integer}}}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	marks, err := immutability.ParseMarks(rules)
	if err != nil {
		t.Fatal(err)
	}
	marked := immutability.AddMarks(s, "v1", marks)
	if len(marked.Unknown) > 0 {
		t.Fatalf("unknown: %v", marked.Unknown)
	}
	policy, err := immutability.Compile(marked.Schema, marked.Layers...)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func TestLayers(t *testing.T) {
	for name, test := range map[string]struct {
		rules, was, is string
		want           []string
	}{
		"several rules for a field": {
			"no-set spec.size\nno-unset spec.size unless a\nno-modify spec.size unless b", `{spec: {size: a}}`, `{spec: {size: b}}`,
			[]string{`spec.size: field is immutable: no-modify: changed from "a" to "b"`},
		},
		"items of a list": {
			"no-modify spec.sails[*].area while true", `{spec: {sails: [{name: a, area: 1}, {name: b, area: 2}]}}`,
			`{spec: {sails: [{name: b, area: 3}, {name: c, area: 4}]}}`,
			[]string{`spec.sails[name="b"].area: field is immutable: no-modify while true: changed from 2 to 3`},
		},
		"values of a map": {
			"set-once spec.crew.* unless hire", `{spec: {crew: {cook: a}}}`, `{spec: {crew: {cook: b, mate: c}}}`,
			[]string{`spec.crew.cook: field is immutable once set: changed from "a" to "b"`},
		},
		"keys with a condition": {
			"immutable-keys spec.crew unless hire", `{spec: {crew: {cook: a}}}`, `{spec: {crew: {mate: c}}}`,
			[]string{`spec.crew.cook: field is immutable: immutable keys: removed "a"`, `spec.crew.mate: field is immutable: immutable keys: added "c"`},
		},
		"a label": {
			`immutable metadata.labels["example.com/team"]`, `{metadata: {labels: {example.com/team: a, x: y}}}`, `{}`,
			[]string{`metadata.labels["example.com/team"]: field is immutable: removed "a"`},
		},
		"a label that is set once": {
			`set-once metadata.labels.team`, `{}`, `{metadata: {labels: {team: a}}}`, nil,
		},
		"all labels": {
			`immutable metadata.labels`, `{metadata: {}}`, `{metadata: {labels: {team: a}}}`,
			[]string{`metadata.labels.team: field is immutable: added "a"`},
		},
		"all annotations, but for those of programs": {
			`addition-only metadata.annotations`,
			`{metadata: {annotations: {a: b, kubectl.kubernetes.io/x: y, deployment.kubernetes.io/revision: "1", holdfast.dev/commands: z}}}`,
			`{metadata: {annotations: {c: d}}}`,
			[]string{`metadata.annotations.a: field is immutable: addition only: removed "b"`},
		},
		"no change": {`immutable metadata.labels`, `{metadata: {labels: {}}}`, `{metadata: {}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			policy := layered(t, test.rules)
			if diff := cmp.Diff(test.want, lines(policy.Check(yamltest.Map(t, test.was), yamltest.Map(t, test.is)))); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// A rule with a condition forbids the same changes as the marker without one.
func TestLayersForbidWhatMarkersForbid(t *testing.T) {
	compared := 0
	for seed := range uint64(3_000) {
		g := generator{rand.New(rand.NewPCG(seed, 2))}
		text := g.root(3)
		s, _, err := schema.Decode(text)
		if err != nil || len(immutability.Validate(s)) > 0 {
			continue
		}
		marks, err := immutability.Marks([]immutability.Version{{Name: "v1", Schema: s}})
		if err != nil || len(marks) != 1 {
			continue
		}
		direct, err := immutability.Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		bare := runtime.DeepCopyJSON(text)
		removeMarkers(bare)
		plain, _, err := schema.Decode(bare)
		if err != nil {
			t.Fatal(err)
		}
		marks[0].While = "true"
		conditional, err := immutability.Compile(plain, immutability.AddMarks(plain, "v1", marks).Layers...)
		if err != nil {
			t.Fatal(err)
		}
		oldObj, _ := g.value(text, 4).(map[string]any)
		newObj, _ := g.mutate(oldObj).(map[string]any)
		if oldObj == nil || newObj == nil {
			continue
		}
		if a, b := len(direct.Check(oldObj, newObj)), len(conditional.Check(oldObj, newObj)); a != b {
			t.Fatalf("seed %d: %s: %d violations, with a condition %d", seed, marks[0], a, b)
		}
		compared++
	}
	if compared < 100 {
		t.Errorf("only %d updates were compared", compared)
	}
}
