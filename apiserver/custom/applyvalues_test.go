package custom

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/definition"
)

// FuzzApplyValues checks that applyValues merges configurations like Kubernetes' field manager, for random schemas,
// objects and managers. Most configurations are those that the manager applied before, with other values.
func FuzzApplyValues(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed)
	}
	var mu sync.Mutex
	var applies, quick, changes int
	f.Cleanup(func() {
		if applies > 400 && (quick < applies/8 || changes < applies/40) {
			f.Errorf("of %d applies, %d were merged without the library, and %d of them changed the object", applies, quick, changes)
		}
	})
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := boats{rand.New(rand.NewPCG(seed, 93))}
		v, schema := g.version(t)
		empty := newObject(v.groupVersionKind())
		live := content(v.manager(t, v.updates(), "").UpdateNoErrors(empty, g.tidyObject(v, schema, nil), "creator"))
		configs := map[string]map[string]any{}
		for range 16 {
			live = g.judged(t, v, live)
			by := fmt.Sprint("m", max(0, g.IntN(8)-5)) // mostly m0
			switch g.IntN(12) {
			case 0:
				live = content(v.manager(t, v.updates(), "").UpdateNoErrors(live, g.tidyObject(v, schema, live), by))
				continue
			case 1:
				configs[by] = g.config(v, schema, live)
			}
			if configs[by] == nil {
				configs[by] = g.config(v, schema, live)
			}
			config := g.retouched(configs[by]).(map[string]any)
			got, isQuick := v.applyValues(live, runtime.DeepCopyJSON(config), by)
			for _, force := range []bool{false, true} {
				want, err := v.applyWhole(t, live, config, by, force)
				if isQuick && err != nil {
					t.Fatalf("schema %s\nstored %v\napplied %v: %v", schema, live.Object, config, err)
				}
				if !isQuick {
					continue
				}
				if diff := gocmp.Diff(timeless(want), timeless(got)); diff != "" {
					t.Fatalf("schema %s\nstored %v\napplied %v\n-Kubernetes +got:\n%s", schema, live.Object, config, diff)
				}
			}
			mu.Lock()
			applies++
			if isQuick {
				quick++
				if diff := gocmp.Diff(timeless(live), timeless(got)); diff != "" {
					changes++
				}
			}
			mu.Unlock()
			if want, err := v.applyWhole(t, live, config, by, true); err == nil {
				live, configs[by] = want, config
			}
		}
	})
}

// judged returns a stored object that is marked as valid if it is.
func (g boats) judged(t *testing.T, v *version, obj *object) *object {
	t.Helper()
	out := copied(obj)
	v.complete(out.Object)
	out.SetUID("1")
	if _, valid := v.compiled.ValidateStored(t.Context(), out.Object, definition.Stored{}); valid {
		out.valid = v
	}
	return out
}

// config returns a random configuration. Some values are those of the stored object.
func (g boats) config(v *version, schema string, live *object) map[string]any {
	config := runtime.DeepCopyJSON(g.tidyObject(v, schema, live).Object)
	metadata := map[string]any{"name": "a"}
	if g.IntN(2) == 0 {
		metadata["labels"] = map[string]any{"x": "1"}
	}
	if g.IntN(8) == 0 {
		metadata["finalizers"] = []any{"f", "g1"}[:1+g.IntN(2)]
	}
	config["metadata"] = metadata
	if g.IntN(4) > 0 {
		delete(config, "status")
	}
	return config
}

// tidyObject returns a random object. Most of them have no nulls, no empty lists, no duplicate items and no values of a wrong type.
func (g boats) tidyObject(v *version, schema string, stored *object) *object {
	obj := g.object(v, schema, stored)
	if g.IntN(8) == 0 {
		return obj
	}
	for _, key := range []string{"spec", "status"} {
		if field, ok := g.tidy(obj.Object[key]); ok {
			obj.Object[key] = field
		} else {
			delete(obj.Object, key)
		}
	}
	obj.Object = v.compiled.Skeleton.Fitting(obj.Object)
	return obj
}

func (g boats) tidy(v any) (any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, false
	case map[string]any:
		out := map[string]any{}
		for key, field := range v {
			if kept, ok := g.tidy(field); ok {
				out[key] = kept
			}
		}
		return out, true
	case []any:
		var out []any
		seen := map[string]bool{}
		for _, item := range v {
			name := fmt.Sprint(item)
			if fields, ok := item.(map[string]any); ok && fields["k"] != nil {
				name = fmt.Sprint(fields["k"])
			}
			if kept, ok := g.tidy(item); ok && !seen[name] {
				seen[name] = true
				out = append(out, kept)
			}
		}
		return out, len(out) > 0
	}
	return v, true
}

// retouched returns a copy of a value in which some scalars have other values.
func (g boats) retouched(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, field := range v {
			out[key] = field
			if key != "apiVersion" && key != "kind" && key != "name" && (key != "k" || g.IntN(20) == 0) {
				out[key] = g.retouched(field)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = item
			if _, isText := item.(string); !isText || g.IntN(20) == 0 { // another item of a set is another field
				out[i] = g.retouched(item)
			}
		}
		return out
	case string:
		if g.IntN(4) == 0 {
			return fmt.Sprint("s", g.IntN(3))
		}
	case int64:
		if g.IntN(6) == 0 {
			return []any{int64(g.IntN(3)), float64(v)}[g.IntN(4)/3]
		}
	case bool:
		if g.IntN(4) == 0 {
			return !v
		}
	}
	return v
}

// applyWhole returns an object after a server-side apply by Kubernetes' field manager.
func (v *version) applyWhole(t *testing.T, live *object, config map[string]any, by string, force bool) (*object, error) {
	t.Helper()
	types := applyTypes{TypeConverter: v.resource.merger.types, resource: v.resource, refused: new(bool)}
	applied := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(config)}
	out, err := v.manager(t, types, "").Apply(copied(live), applied, by, force)
	if err != nil {
		return nil, err
	}
	return content(out), nil
}
