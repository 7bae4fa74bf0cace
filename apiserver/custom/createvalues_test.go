package custom

import (
	"math/rand/v2"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/apiserver/custom/text"
)

// FuzzCreatedFields checks that createdFields finds the fields that Kubernetes' field manager finds in new objects, for random schemas
// and objects.
func FuzzCreatedFields(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	var mu sync.Mutex
	var objects, quick, known int
	f.Cleanup(func() {
		if objects > 400 && (quick < objects/2 || known < objects/10) {
			f.Errorf("of %d objects, the fields of %d were found without the library, and %d had the fields of the one before", objects, quick, known)
		}
	})
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := boats{rand.New(rand.NewPCG(seed, 99))}
		v, schema := g.version(t)
		v.resource.server.sets = newFieldSets(&text.JSON{})
		obj := g.tidyObject(v, schema, nil)
		for range 16 {
			switch g.IntN(3) {
			case 0:
				obj = g.tidyObject(v, schema, nil)
			case 1:
				obj = g.updated(v, schema, obj)
			}
			obj.SetManagedFields(nil)
			last := v.lastCreated.Load()
			fields, isQuick := v.createdFields(obj)
			if want := v.createdByLibrary(t, obj); isQuick {
				if diff := gocmp.Diff(want, fields); diff != "" {
					t.Fatalf("schema %s\ncreated %v\n-Kubernetes +got:\n%s", schema, obj.Object, diff)
				}
			}
			mu.Lock()
			objects++
			if isQuick {
				quick++
			}
			if isQuick && last == v.lastCreated.Load() {
				known++
			}
			mu.Unlock()
		}
	})
}

// createdByLibrary returns the fields that Kubernetes' field manager finds in a new object.
func (v *version) createdByLibrary(t *testing.T, obj *object) map[string]any {
	t.Helper()
	empty := newObject(v.groupVersionKind())
	created := content(v.manager(t, v.updates(), "").UpdateNoErrors(empty, copied(obj), "m"))
	entries := listIn(created, "managedFields")
	if len(entries) != 1 {
		return nil
	}
	entry, _ := entries[0].(map[string]any)
	fields, _ := entry["fieldsV1"].(map[string]any)
	return fields
}
