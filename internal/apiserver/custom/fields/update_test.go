package fields

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// FuzzUpdateValues checks that Quick records the managed fields of updates like Kubernetes' field manager, for random schemas, objects,
// managers and subresources. Most updates replace values.
func FuzzUpdateValues(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	var count tally
	count.requires(f, 8, 40)
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := boats{rand.New(rand.NewPCG(seed, 97))}
		v, schema := g.version(t)
		endpoints := map[string]forms{"": formsOf(t, v, ""), "status": formsOf(t, v, "status")}
		live := endpoints[""].library.Create(g.tidyObject(v, schema, nil), "m0")
		for range 16 {
			live = g.judged(t, v, live)
			by, part := fmt.Sprint("m", max(0, g.IntN(8)-5)), []string{"", "", "status"}[g.IntN(3)]
			endpoint := endpoints[part]
			updated := g.updated(v, schema, live)
			if g.IntN(12) == 0 {
				live = endpoint.applied(live, updated, by)
				continue
			}
			stored, calls := unchanged(t, live.Object), endpoint.calls.count
			want := endpoint.library.Update(copied(live), copied(updated), by)
			got := endpoint.quick.Update(live, copied(updated), by)
			stored()
			if diff := gocmp.Diff(timeless(want), timeless(got)); diff != "" {
				t.Fatalf("schema %s\nstored %v\nupdated %v\nby %v of %q\n-Kubernetes +got:\n%s",
					schema, live.Object, updated.Object, by, part, diff)
			}
			count.add(calls == endpoint.calls.count, gocmp.Diff(timeless(live), timeless(got)) != "")
			live = want
		}
	})
}
