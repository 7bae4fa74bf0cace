package fields

import (
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// FuzzCreatedFields checks that Quick finds the fields that Kubernetes' field manager finds in new objects, for random schemas and
// objects. Of the objects, some have the fields of the one before.
func FuzzCreatedFields(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	var count tally
	count.requires(f, 2, 10)
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := boats{rand.New(rand.NewPCG(seed, 99))}
		v, schema := g.version(t)
		endpoint := formsOf(t, v, "")
		obj := g.tidyObject(v, schema, nil)
		for range 16 {
			switch g.IntN(3) {
			case 0:
				obj = g.tidyObject(v, schema, nil)
			case 1:
				obj = g.updated(v, schema, obj)
			}
			if g.IntN(10) > 0 {
				obj.SetManagedFields(nil)
			}
			last, calls := endpoint.quick.lastCreated.Load(), endpoint.calls.count
			want := endpoint.library.Create(copied(obj), "m")
			got := endpoint.quick.Create(copied(obj), "m")
			if diff := gocmp.Diff(timeless(want), timeless(got)); diff != "" {
				t.Fatalf("schema %s\ncreated %v\n-Kubernetes +got:\n%s", schema, obj.Object, diff)
			}
			count.add(calls == endpoint.calls.count, last == endpoint.quick.lastCreated.Load())
		}
	})
}

// TestCreateAgain creates objects after another one whose set of fields is known.
func TestCreateAgain(t *testing.T) {
	t.Parallel()
	for spec, isQuick := range map[string]bool{
		`{a: x, m: [{k: a, v: x}, {k: b}]}`:         true,
		`{a: z, m: [{k: b}, {k: a, v: x}]}`:         true,
		`{a: x, m: [{k: a, v: x}, {k: b, v: x}]}`:   true,
		`{a: x, m: [{k: a, v: x}, {k: c}]}`:         true,
		`{a: x, m: [{k: a, v: x}, {k: b}, {k: c}]}`: true,
		`{i: 1, m: [{k: a, v: x}, {k: b}]}`:         true,
		`{a: x, u: {w: [1]}}`:                       true,
		`{a: x, m: [{k: a, v: x}, {k: a, v: x}]}`:   false,
		`{a: x, m: [{k: b}, {k: b}]}`:               false,
		`{a: 1, m: [{k: a, v: x}, {k: b}]}`:         false,
	} {
		endpoint := formsOf(t, versionWith(t, boatSchema), "")
		endpoint.quick.Create(boat(t, `{a: x, m: [{k: a, v: x}, {k: b}]}`), "m")
		want, got := endpoint.library.Create(boat(t, spec), "m"), endpoint.quick.Create(boat(t, spec), "m")
		if diff := gocmp.Diff(timeless(want), timeless(got)); diff != "" {
			t.Errorf("%s\n-Kubernetes +got:\n%s", spec, diff)
		}
		if (endpoint.calls.count == 0) != isQuick {
			t.Errorf("%s: the library was called %d times", spec, endpoint.calls.count)
		}
	}
}
