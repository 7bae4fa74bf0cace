package escape_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/escape"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

func TestRemedy(t *testing.T) {
	const x = `{type: object, properties: {x: {type: string, x-kubernetes-immutable: true}}}`
	for name, test := range map[string]struct {
		schema string
		want   []string
	}{
		"one parent": {`{properties: {foo: ` + x + `}}`, []string{
			"make foo required",
			"write x-kubernetes-update: [NoUnset] on foo, or no-unset in the annotation",
			`for every Kubernetes server: add the rule "!has(oldSelf.foo) || has(self.foo)" to the root`,
		}},
		"every level": {`{properties: {spec: {type: object, properties: {a-b: ` + x + `}}}}`, []string{
			"make spec and spec.a-b required",
			"write x-kubernetes-update: [NoUnset] on spec and spec.a-b, or no-unset in the annotation",
			`for every Kubernetes server: add the rule "!has(oldSelf.a__dash__b) || has(self.a__dash__b)" to spec and ` +
				`add the rule "!has(oldSelf.spec) || has(self.spec)" to the root`,
		}},
		"nullable and without a type": {
			`{properties: {foo: {nullable: true, properties: {x: {x-kubernetes-immutable: true}}}}}`, []string{
				"make foo required, remove nullable: true from foo and write type: object on foo",
				"write type: object on foo and write x-kubernetes-update: [NoUnset] on foo, or no-unset in the annotation",
				`for every Kubernetes server: add the rule "!has(oldSelf.foo) || has(self.foo)" to the root, ` +
					`remove nullable: true from foo and write type: object on foo`,
			},
		},
		"the status": {`{properties: {status: ` + x + `}}`, []string{
			"write x-kubernetes-update: [NoUnset] on status, or no-unset in the annotation",
			`for every Kubernetes server: add the rule "!has(oldSelf.status) || has(self.status)" to the root`,
		}},
		"a map in an optional parent": {
			`{properties: {foo: {type: object, properties: {m: {type: object, additionalProperties: {type: string, x-kubernetes-immutable: true}}}}}}`,
			[]string{
				"add x-kubernetes-addition-only: true to foo.m and make foo required",
				"add x-kubernetes-addition-only: true to foo.m and write x-kubernetes-update: [NoUnset] on foo, or no-unset in the annotation",
				`for every Kubernetes server: add the rule "!has(oldSelf.foo) || has(self.foo)" to the root, ` +
					`add the rule "!has(oldSelf.m) || has(self.m)" to foo and add the rule "oldSelf.all(k, k in self)" to foo.m`,
			},
		},
		"an object in items of an atomic list": {
			`{required: [l], properties: {l: {type: array, items: {type: object, properties: {foo: ` + x + `}}}}}`,
			[]string{"add x-kubernetes-immutable: true to l"},
		},
		"a rule on an optional field": {
			`{properties: {x: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}`, []string{
				"make x required", "add x-kubernetes-immutable: true to x",
				`for every Kubernetes server: add the rule "!has(oldSelf.x) || has(self.x)" to the root`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, e := range escape.Find(schemaOf(t, test.schema)) {
				if diff := cmp.Diff(test.want, strings.Split(e.Remedy(), "; or ")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", e, diff)
				}
			}
		})
	}
}

// A fix closes all escapes of the field and opens no other, and no part of it does.
func TestFixesAreSmallest(t *testing.T) {
	fixes := map[string]int{}
	for seed := range uint64(60) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		object := g.root(false)
		before := escape.Find(decoded(t, object))
		for _, e := range before {
			for kind, fix := range fixesOf(e) {
				if len(fix) == 0 {
					continue
				}
				fixes[kind]++
				for subset := range 1 << len(fix) {
					var steps escape.Fix
					for i, step := range fix {
						if subset&(1<<i) != 0 {
							steps = append(steps, step)
						}
					}
					open := left(before, escape.Find(decoded(t, applied(t, object, steps))), e)
					if isWhole := len(steps) == len(fix); isWhole != (len(open) == 0) {
						t.Fatalf("seed %d: %s\nafter %q of %q: %v\n%s", seed, e, steps, fix, open, text(object))
					}
				}
			}
			if all := e.Fixes(); len(all.Required) == 0 && len(all.Marked) == 0 {
				t.Fatalf("seed %d: no fix for %s\n%s", seed, e, text(object))
			}
		}
	}
	for _, kind := range []string{"required", "marked", "rules"} {
		if fixes[kind] < 20 {
			t.Errorf("only %d fixes: %s", fixes[kind], kind)
		}
	}
}

func fixesOf(e escape.Escape) map[string]escape.Fix {
	all := e.Fixes()
	return map[string]escape.Fix{"required": all.Required, "marked": all.Marked, "rules": all.Rules}
}

// left returns the escapes of the field of e, and those that were not there before.
func left(before, after []escape.Escape, e escape.Escape) []string {
	isKnown := func(other escape.Escape) bool {
		return slices.ContainsFunc(before, func(b escape.Escape) bool { return b.Field.Equal(other.Field) && b.Rule == other.Rule })
	}
	var open []string
	for _, other := range after {
		if other.Field.Equal(e.Field) && (other.Rule == e.Rule || other.Rule == "") || !isKnown(other) {
			open = append(open, other.String())
		}
	}
	return open
}

// generator makes random schemas with protected fields.
type generator struct{ *rand.Rand }

func (g generator) maybe() bool { return g.IntN(2) == 0 }

func (g generator) root(portable bool) map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{"spec": g.node(3, portable)}}
}

// node returns a node with at least one protected field. A portable one is what Kubernetes accepts.
func (g generator) node(depth int64, portable bool) map[string]any {
	kind := g.IntN(5)
	switch {
	case depth == 0:
		return g.leaf(portable)
	case kind == 3:
		node := map[string]any{"type": "object", "additionalProperties": g.node(depth-1, portable), "maxProperties": int64(5)}
		return node
	case kind == 4 && depth > 1:
		return g.list(depth, portable)
	}
	names := []string{"a", "b-c"}[:1+g.IntN(2)]
	properties, required := map[string]any{}, []any{}
	for _, name := range names {
		properties[name] = g.node(depth-1, portable)
		if g.maybe() {
			required = append(required, name)
		}
	}
	node := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		node["required"] = required
	}
	if g.IntN(4) == 0 {
		node["nullable"] = true
	}
	if !portable && g.IntN(4) == 0 {
		delete(node, "type")
	}
	return node
}

func (g generator) list(depth int64, portable bool) map[string]any {
	items := map[string]any{"type": "object", "required": []any{"name"}, "properties": map[string]any{
		"name": map[string]any{"type": "string", "maxLength": int64(5)}, "v": g.node(depth-1, portable),
	}}
	list := map[string]any{"type": "array", "items": items, "maxItems": int64(3)}
	// In another list, Kubernetes does not find the old value of an item.
	if portable || g.maybe() {
		list["x-kubernetes-list-type"] = "map"
		list["x-kubernetes-list-map-keys"] = []any{"name"}
		if !portable {
			items["properties"].(map[string]any)["name"].(map[string]any)["x-kubernetes-immutable"] = true
		}
	}
	return list
}

func (g generator) leaf(portable bool) map[string]any {
	leaf := map[string]any{"type": "string", "maxLength": int64(5)}
	switch {
	case portable || g.IntN(3) == 0:
		leaf["x-kubernetes-validations"] = []any{map[string]any{"rule": "self == oldSelf"}}
	case g.maybe():
		leaf["x-kubernetes-update"] = []any{"NoModify"}
	default:
		leaf["x-kubernetes-immutable"] = true
	}
	return leaf
}

// applied returns a schema with the steps of a fix.
func applied(t testing.TB, object map[string]any, steps escape.Fix) map[string]any {
	t.Helper()
	object = runtime.DeepCopyJSON(object)
	for _, step := range steps {
		node := nodeAt(t, object, step.Node)
		switch step.Kind {
		case escape.Require:
			path := step.Node.Steps()
			holder := nodeAt(t, object, step.Node.Parent().Parent())
			required, _ := holder["required"].([]any)
			holder["required"] = append(required, path[len(path)-1].Name)
		case escape.NotNullable:
			delete(node, "nullable")
		case escape.SetType:
			node["type"] = "object"
		case escape.Mark:
			for _, keyword := range []string{
				schema.ImmutableKeyword, schema.ImmutableKeysKeyword, schema.AdditionOnlyKeyword, schema.DeletionOnlyKeyword, schema.UpdateKeyword,
			} {
				delete(node, keyword)
			}
			// A list as the schema decoder takes it.
			data, err := json.Marshal(step.Marker.KeywordValue())
			if err != nil {
				t.Fatal(err)
			}
			var keyword any
			if err := json.Unmarshal(data, &keyword); err != nil {
				t.Fatal(err)
			}
			node[step.Marker.Keyword()] = keyword
		case escape.AddRule:
			rules, _ := node["x-kubernetes-validations"].([]any)
			node["x-kubernetes-validations"] = append(rules, map[string]any{"rule": step.Rule})
		}
	}
	return object
}

func nodeAt(t testing.TB, object map[string]any, path *value.Path) map[string]any {
	t.Helper()
	for _, step := range path.Steps() {
		next, ok := object[step.Name].(map[string]any)
		if !ok {
			t.Fatalf("no %s in %v", path, slices.Sorted(maps.Keys(object)))
		}
		object = next
	}
	return object
}

// decoded decodes a schema, and checks that its markers are where the server accepts them.
func decoded(t testing.TB, object map[string]any) *schema.Schema {
	t.Helper()
	s, unknown, err := schema.Decode(object)
	if err != nil || len(unknown) > 0 {
		t.Fatalf("%v, unknown %v in\n%s", err, unknown, text(object))
	}
	if errs := immutability.Validate(s); len(errs) > 0 {
		t.Fatalf("%v in\n%s", errs, text(object))
	}
	return s
}

func text(object map[string]any) string {
	out, err := yaml.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(out)
}
