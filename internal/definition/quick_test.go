package definition_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/value"
)

// FuzzQuick checks that Validate and ValidateStored return the same errors and warnings as
// upstream's validators, for random schemas, objects and updates. For ValidateStored, the new
// object shares what is equal with the old one, and the old one is valid if ValidateStored said so.
func FuzzQuick(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	var mu sync.Mutex
	var writes, values, rules int
	f.Cleanup(func() {
		if writes > 500 && (values < writes/10 || rules < writes/20) {
			f.Errorf("of %d writes, the values of only %d and the rules of only %d were accepted quickly", writes, values, rules)
		}
	})
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := generator{rand.New(rand.NewPCG(seed, 15))}
		root := g.root()
		g.addRules(root)
		crd := read(t, widgets(`{type: object}`))
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema = asJSON(t, root)
		versions, err := definition.Compile(crd)
		if err != nil {
			t.Skip(err)
		}
		c := versions["v1"]
		var old map[string]any
		valid := false
		for range 8 {
			obj := g.resource(root, old)
			want := judge(t.Context(), c.WithoutQuick(), obj, old)
			if diff := cmp.Diff(want, judge(t.Context(), c, obj, old)); diff != "" {
				t.Errorf("schema %s\nold %s\nnew %s\n-upstream +got:\n%s", asJSON(t, root), asJSON(t, old), asJSON(t, obj), diff)
			}
			shareEqual(obj, old)
			var stored []string
			stored, valid = judgeStored(t.Context(), c, obj, definition.Stored{Object: old, Valid: valid})
			if diff := cmp.Diff(want, stored); diff != "" {
				t.Errorf("stored: schema %s\nold %s\nnew %s\n-upstream +got:\n%s", asJSON(t, root), asJSON(t, old), asJSON(t, obj), diff)
			}
			quickValues, quickRules := c.Quick(t.Context(), obj)
			mu.Lock()
			writes++
			if quickValues {
				values++
			}
			if quickRules {
				rules++
			}
			mu.Unlock()
			old = obj
		}
	})
}

// judge returns the errors and the warnings about a write.
func judge(ctx context.Context, c *definition.Compiled, newObj, oldObj map[string]any) []string {
	found := &warnings{}
	return found.add(c.Validate(warning.WithWarningRecorder(ctx, found), newObj, oldObj))
}

// judgeStored is judge with ValidateStored.
func judgeStored(ctx context.Context, c *definition.Compiled, newObj map[string]any, old definition.Stored) ([]string, bool) {
	found := &warnings{}
	errs, valid := c.ValidateStored(warning.WithWarningRecorder(ctx, found), newObj, old)
	return found.add(errs), valid
}

// shareEqual replaces the values of an object that are equal to those of the old one by these.
func shareEqual(obj, old map[string]any) {
	for name, v := range obj {
		child, isObject := v.(map[string]any)
		oldChild, wasObject := old[name].(map[string]any)
		if before, ok := old[name]; ok && value.Identical(v, before) {
			obj[name] = before
		} else if isObject && wasObject {
			shareEqual(child, oldChild)
		}
	}
}

// add returns the warnings and some errors.
func (w *warnings) add(errs field.ErrorList) []string {
	out := messages(errs)
	for _, text := range w.texts {
		out = append(out, "warning: "+text)
	}
	slices.Sort(out)
	return out
}

// warnings records warnings.
type warnings struct{ texts []string }

func (w *warnings) AddWarning(_, text string) { w.texts = append(w.texts, text) }

// addRules adds rules about changes to some nodes of a schema. No rule compares objects as a
// whole: upstream's answer then depends on the order of a Go map if a value has a wrong type.
func (g generator) addRules(s map[string]any) {
	rules, _ := s["x-kubernetes-validations"].([]any)
	add := func(percent int, rule string, optional bool) {
		if g.maybe(percent) {
			rules = append(rules, map[string]any{"rule": rule, "optionalOldSelf": optional, "message": rule})
		}
	}
	switch s["type"] {
	case "string":
		add(20, "self == oldSelf || self != 'z'", false)
		add(10, "!oldSelf.hasValue() || oldSelf.value() == self", true)
	case "integer":
		add(20, "self >= oldSelf", false)
	case "array":
		add(20, "size(self) <= 3", false)
	case "object":
		add(20, "has(self.a) || !has(oldSelf.a)", false)
		if properties, ok := s["properties"].(map[string]any); ok {
			for _, name := range []string{"a", "b", "c", "key"} {
				if child, ok := properties[name].(map[string]any); ok {
					g.addRules(child)
				}
			}
		}
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if child, ok := s[name].(map[string]any); ok {
			g.addRules(child)
		}
	}
	if len(rules) > 0 {
		s["x-kubernetes-validations"] = rules
	}
}

// resource returns a random object of a schema. Its fields are often those of old.
func (g generator) resource(schema, old map[string]any) map[string]any {
	obj, ok := g.value(schema).(map[string]any)
	if !ok {
		obj = map[string]any{}
	}
	for name, v := range old {
		if g.maybe(60) {
			obj[name] = runtime.DeepCopyJSONValue(v)
		}
	}
	obj["apiVersion"], obj["kind"] = "example.com/v1", "Widget"
	obj["metadata"] = map[string]any{"name": g.pick("x", "q", "longer")}
	return obj
}

func (g generator) pick(values ...any) any { return values[g.IntN(len(values))] }

// value returns a random value that often fits a schema.
func (g generator) value(s map[string]any) any {
	if g.maybe(3) {
		return g.pick(nil, "q", int64(7), 1.5, true, []any{}, map[string]any{})
	}
	switch s["type"] {
	case "string":
		return g.pick("x", "x", "z", "xyz", "q", "much too long", "2026-01-02T03:04:05Z")
	case "integer":
		return g.pick(int64(1), int64(2), int64(0), 1.0)
	case "array":
		items, _ := s["items"].(map[string]any)
		list := []any{}
		for range g.IntN(5) {
			list = append(list, g.value(items))
		}
		return list
	case "object":
		return g.fields(s)
	}
	return g.pick("5", int64(5), map[string]any{"any": "thing"})
}

func (g generator) fields(s map[string]any) map[string]any {
	obj := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	for _, name := range []string{"a", "b", "c", "key"} {
		if child, ok := properties[name].(map[string]any); ok && g.maybe(85) {
			obj[name] = g.value(child)
		}
	}
	if values, ok := s["additionalProperties"].(map[string]any); ok {
		for _, name := range []string{"x", "y"} {
			g.add(obj, 60, name, g.value(values))
		}
	}
	if s["x-kubernetes-embedded-resource"] == true {
		obj["apiVersion"], obj["kind"] = "v1", g.pick("Other", "")
		obj["metadata"] = map[string]any{"name": g.pick("x", "NOT A NAME")}
	}
	return obj
}
