package custom

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"holdfast.dev/holdfast/apiserver/custom/text"
)

// FuzzPatchValues checks that patchValues makes of an object what the library makes of its text, for random objects and patches.
func FuzzPatchValues(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	var mu sync.Mutex
	var patches, quick int
	f.Cleanup(func() {
		if patches > 400 && quick < patches/8 {
			f.Errorf("of %d patches, %d were made without the library", patches, quick)
		}
	})
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := boats{rand.New(rand.NewPCG(seed, 98))}
		v, schema := g.version(t)
		v.resource.server.format = &text.JSON{}
		live := g.tidyObject(v, schema, nil)
		for range 16 {
			patch, err := json.Marshal(g.patch(live.Object))
			if err != nil {
				t.Fatal(err)
			}
			stored, err := json.Marshal(live.Object)
			if err != nil {
				t.Fatal(err)
			}
			got, isQuick := v.patchValues(live, patch)
			if after, err := json.Marshal(live.Object); err != nil || string(after) != string(stored) {
				t.Fatalf("patch %s changed the stored object from %s to %s", patch, stored, after)
			}
			mu.Lock()
			patches++
			if isQuick {
				quick++
			}
			mu.Unlock()
			if !isQuick {
				continue
			}
			patched, err := jsonpatch.MergePatch(stored, patch)
			if err != nil {
				t.Fatal(err)
			}
			want, err := new(text.JSON).Decode(patched)
			if err != nil {
				t.Fatal(err)
			}
			made, err := json.Marshal(got.Object)
			if err != nil {
				t.Fatal(err)
			}
			again, err := new(text.JSON).Decode(made)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, again); diff != "" {
				t.Fatalf("stored %s\npatch %s\n-library +got:\n%s", stored, patch, diff)
			}
		}
	})
}

// patch returns a random merge patch for an object. Most of them replace scalars.
func (g boats) patch(live map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range live {
		if g.IntN(3) > 0 {
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			out[key] = g.patch(v)
		default:
			out[key] = g.retouched(v)
		}
	}
	if g.IntN(20) == 0 {
		out[fmt.Sprint("n", g.IntN(3))] = []any{nil, "s", int64(1), []any{"s"}, map[string]any{"x": nil}}[g.IntN(5)]
	}
	return out
}
