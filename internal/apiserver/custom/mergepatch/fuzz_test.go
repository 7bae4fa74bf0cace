package mergepatch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// FuzzPatchValues checks that Quick makes of an object what the library makes of it, for random objects and patches.
func FuzzPatchValues(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	var mu sync.Mutex
	var patches, quick int
	f.Cleanup(func() {
		if patches > 400 && quick < patches/8 {
			f.Errorf("of %d patches, %d were made without the library", patches, quick)
		}
	})
	v := versionOf(f, `{type: object, x-kubernetes-preserve-unknown-fields: true}`)
	format := text.New(nil)
	plain, patcher := Library{format}, newQuick(v, format)
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := generator{rand.New(rand.NewPCG(seed, 98))}
		stored := object.New(v.GroupVersionKind())
		stored.Object["metadata"] = map[string]any{"name": "a", "resourceVersion": "1", "labels": map[string]any{"x": "1"}}
		stored.Object["spec"] = g.object(4)
		for range 16 {
			patch := g.text(t, stored.Object)
			before := fmt.Sprint(stored.Object)
			got, gotErr := patcher.Patch(stored, patch)
			if after := fmt.Sprint(stored.Object); after != before {
				t.Fatalf("patch %s changed the stored object from %s to %s", patch, before, after)
			}
			want, err := plain.Patch(stored, patch)
			if fmt.Sprint(gotErr) != fmt.Sprint(err) {
				t.Fatalf("stored %v\npatch %s: %v, library: %v", stored.Object, patch, gotErr, err)
			}
			mu.Lock()
			patches++
			if got.Object != nil {
				quick++
			}
			mu.Unlock()
			if err != nil || got.Object == nil {
				continue
			}
			if diff := gocmp.Diff(decodedByLibrary(t, want.Text), encoded(t, got.Object)); diff != "" {
				t.Fatalf("stored %v\npatch %s\n-library +got:\n%s", stored.Object, patch, diff)
			}
		}
	})
}

// encoded returns the content of an object after it was encoded and decoded: the number 1.0 becomes 1.
func encoded(t *testing.T, obj *object.Object) map[string]any {
	t.Helper()
	data, err := json.Marshal(obj.Object)
	if err != nil {
		t.Fatal(err)
	}
	return decodedByLibrary(t, data)
}

func decodedByLibrary(t *testing.T, data []byte) map[string]any {
	t.Helper()
	out, err := text.Library{}.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// generator generates objects and patches.
type generator struct{ *rand.Rand }

func (g generator) object(depth int) map[string]any {
	out := map[string]any{}
	for _, key := range []string{"a", "b", "c", "d"}[:1+g.IntN(4)] {
		if out[key] = g.scalar(); depth > 0 && g.IntN(2) == 0 {
			out[key] = []any{g.object(depth - 1), []any{g.object(0)}, g.object(depth - 1)}[g.IntN(3)]
		}
	}
	return out
}

func (g generator) scalar() any {
	return []any{fmt.Sprint("s", g.IntN(3)), int64(g.IntN(3)), float64(g.IntN(3)) / 2, g.IntN(2) == 0, nil}[(g.IntN(17)+3)/4]
}

// patch returns a random merge patch for an object. Most of them replace scalars.
func (g generator) patch(stored map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range stored {
		if g.IntN(3) > 0 {
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			out[key] = g.patch(v)
		case string:
			out[key] = []any{v, v, v, "s", "t", ""}[g.IntN(6)]
		case int64:
			out[key] = v + int64(g.IntN(2))
		case bool:
			out[key] = g.IntN(2) == 0
		default:
			out[key] = v
		}
		if g.IntN(16) == 0 {
			out[key] = g.scalar()
		}
	}
	if g.IntN(20) == 0 {
		out[fmt.Sprint("n", g.IntN(3))] = []any{nil, "s", int64(1), []any{"s"}, map[string]any{"x": nil}}[g.IntN(5)]
	}
	return out
}

// text returns a random patch. A few are not what the library expects.
func (g generator) text(t *testing.T, stored map[string]any) []byte {
	t.Helper()
	if g.IntN(20) == 0 {
		return []byte([]string{
			`[1]`, `null`, `{"spec":{"a":1,"a":2}}`, ` {"kind":null}`, `{"kind":null,"apiVersion":null}`, `{"apiVersion":1}`, `{}`,
		}[g.IntN(7)])
	}
	data, err := json.Marshal(g.patch(stored))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
