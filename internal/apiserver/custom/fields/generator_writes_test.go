package fields

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/definition"
)

// judged returns a stored object that is marked as valid if it is.
func (g boats) judged(t *testing.T, v *kind.Version, obj *object.Object) *object.Object {
	t.Helper()
	out := copied(obj)
	v.Conform(out.Object)
	out.SetUID("1")
	if _, valid := v.Compiled.ValidateStored(t.Context(), out.Object, definition.Stored{}); valid {
		out.Valid = v.Compiled
	}
	return out
}

// config returns a random configuration. Some values are those of the stored object.
func (g boats) config(v *kind.Version, schema string, live *object.Object) map[string]any {
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
func (g boats) tidyObject(v *kind.Version, schema string, stored *object.Object) *object.Object {
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
	obj.Object = v.Compiled.Skeleton.Fitting(obj.Object)
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

// updated returns an updated object. Most of them have other values in the fields of the stored one.
func (g boats) updated(v *kind.Version, schema string, live *object.Object) *object.Object {
	if g.IntN(6) == 0 {
		return g.tidyObject(v, schema, live)
	}
	out := copied(live)
	for _, key := range []string{"spec", "status"} {
		if part, ok := live.Object[key]; ok && g.IntN(3) > 0 {
			out.Object[key] = g.retouched(part)
		}
	}
	if g.IntN(4) == 0 {
		out.SetLabels(map[string]string{"x": fmt.Sprint(g.IntN(3))})
	}
	if g.IntN(4) == 0 {
		out.SetManagedFields(nil)
	}
	v.Conform(out.Object)
	return out
}
