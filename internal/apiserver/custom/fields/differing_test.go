package fields

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// FuzzDiffering checks that a field manager that compares only the differing parts of two objects records the same managed fields as
// Kubernetes' field manager, for random schemas, objects, managers and subresources.
func FuzzDiffering(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	var count tally
	count.requires(f, 2, 2)
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := boats{rand.New(rand.NewPCG(seed, 60))}
		v, schema := g.version(t)
		endpoints := map[string]forms{"": formsOf(t, v, ""), "status": formsOf(t, v, "status")}
		live := endpoints[""].library.Create(g.object(v, schema, nil), "creator")
		live.SetUID("1")
		for range 8 {
			by, part := fmt.Sprint("m", g.IntN(4)), []string{"", "", "status"}[g.IntN(3)]
			updated := g.object(v, schema, live)
			if g.IntN(4) == 0 {
				live = endpoints[part].applied(live, updated, by)
				continue
			}
			check := unchanged(t, live.Object)
			types := &differingTypes{updateTypes: endpoints[part].library.updateTypes(), stored: live}
			_, storedPart := types.parts(copied(updated).Object, []typed.ValidationOptions{typed.AllowDuplicates})
			got := endpoints[part].parts.Update(live, copied(updated), by)
			check()
			want := endpoints[part].library.Update(live, updated, by)
			if diff := gocmp.Diff(timeless(want), timeless(got)); diff != "" {
				t.Fatalf("schema %s\nstored %v\n-Kubernetes +got:\n%s", schema, live.Object, diff)
			}
			count.add(storedPart != nil, true)
			live = want
			live.SetUID("1")
		}
	})
}
