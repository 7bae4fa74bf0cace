package custom

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// FuzzUpdateValues checks that updateValues records the managed fields of updates like Kubernetes' field manager, for random
// schemas, objects, managers and subresources. Most updates replace values.
func FuzzUpdateValues(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	var mu sync.Mutex
	var updates, quick, changes int
	f.Cleanup(func() {
		if updates > 400 && (quick < updates/8 || changes < updates/40) {
			f.Errorf("of %d updates, %d were compared without the library, and %d of them changed the object", updates, quick, changes)
		}
	})
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := boats{rand.New(rand.NewPCG(seed, 97))}
		v, schema := g.version(t)
		empty := newObject(v.groupVersionKind())
		live := content(v.manager(t, v.updates(), "").UpdateNoErrors(empty, g.tidyObject(v, schema, nil), "m0"))
		for range 16 {
			live = g.judged(t, v, live)
			w := writer{fmt.Sprint("m", max(0, g.IntN(8)-5)), "Update", []string{"", "", "status"}[g.IntN(3)]}
			updated := g.updated(v, schema, live)
			if g.IntN(12) == 0 {
				live = applied(t, v, w.subresource, live, updated, w.manager)
				continue
			}
			got, isQuick := v.updateValues(live, copied(updated), w)
			want := content(v.manager(t, v.updates(), w.subresource).UpdateNoErrors(copied(live), copied(updated), w.manager))
			mu.Lock()
			updates++
			if isQuick {
				quick++
				if diff := gocmp.Diff(timeless(want), timeless(got)); diff != "" {
					t.Fatalf("schema %s\nstored %v\nupdated %v\nby %v\n-Kubernetes +got:\n%s", schema, live.Object, updated.Object, w, diff)
				}
				if diff := gocmp.Diff(timeless(live), timeless(got)); diff != "" {
					changes++
				}
			}
			mu.Unlock()
			live = want
		}
	})
}

// updated returns an updated object. Most of them have other values in the fields of the stored one.
func (g boats) updated(v *version, schema string, live *object) *object {
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
	v.complete(out.Object)
	return out
}
