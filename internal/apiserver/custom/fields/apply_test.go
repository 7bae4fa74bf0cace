package fields

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// FuzzApplyValues checks that Quick merges configurations like Kubernetes' field manager, for random schemas, objects and managers. Most
// configurations are those that the manager applied before, with other values.
func FuzzApplyValues(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed)
	}
	var count tally
	count.requires(f, 20, 120)
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := boats{rand.New(rand.NewPCG(seed, 93))}
		v, schema := g.version(t)
		endpoint := formsOf(t, v, "")
		live := endpoint.library.Create(g.tidyObject(v, schema, nil), "creator")
		configs := map[string]map[string]any{}
		for range 16 {
			live = g.judged(t, v, live)
			by := fmt.Sprint("m", max(0, g.IntN(8)-5)) // mostly m0
			switch g.IntN(12) {
			case 0:
				live = endpoint.library.Update(live, g.tidyObject(v, schema, live), by)
				continue
			case 1:
				configs[by] = g.config(v, schema, live)
			}
			if configs[by] == nil {
				configs[by] = g.config(v, schema, live)
			}
			config := g.retouched(configs[by]).(map[string]any)
			for _, force := range []bool{false, true} {
				applied := Configuration{Content: runtime.DeepCopyJSON(config), Manager: by, Force: force}
				stored, sent, calls := unchanged(t, live.Object), unchanged(t, applied.Content), endpoint.calls.count
				want, err := endpoint.library.Apply(copied(live), applied)
				got, gotErr := endpoint.quick.Apply(live, applied)
				stored()
				sent()
				if (err == nil) != (gotErr == nil) || apierrors.ReasonForError(err) != apierrors.ReasonForError(gotErr) {
					t.Fatalf("schema %s\nstored %v\napplied %v: %v, Kubernetes: %v", schema, live.Object, config, gotErr, err)
				}
				if err != nil {
					count.add(false, false)
					continue
				}
				if diff := gocmp.Diff(timeless(want), timeless(got)); diff != "" {
					t.Fatalf("schema %s\nstored %v\napplied %v\n-Kubernetes +got:\n%s", schema, live.Object, config, diff)
				}
				count.add(calls == endpoint.calls.count, gocmp.Diff(timeless(live), timeless(got)) != "")
				if force {
					live, configs[by] = want, config
				}
			}
		}
	})
}

// TestApplyAgain applies a configuration that a manager applied before, with a change.
func TestApplyAgain(t *testing.T) {
	t.Parallel()
	set := func(v any, path ...string) func(config, stored map[string]any) {
		return func(config, _ map[string]any) {
			if err := unstructured.SetNestedField(config, v, path...); err != nil {
				t.Error(err)
			}
		}
	}
	cases := map[string]struct {
		change  func(config, stored map[string]any)
		manager string
		quick   bool
	}{
		"the same":            {func(_, _ map[string]any) {}, "m", true},
		"another value":       {set("z", "spec", "a"), "m", true},
		"another list":        {set([]any{int64(2)}, "spec", "l"), "m", true},
		"the manager kubectl": {func(_, _ map[string]any) {}, "kubectl", false},
		"an equal list":       {set([]any{float64(1)}, "spec", "l"), "m", false},
		"a list of texts":     {set([]any{"1"}, "spec", "l"), "m", false},
		"a status":            {set("x", "status", "phase"), "m", false},
		"another name":        {set("b", "metadata", "name"), "m", false},
		"a generation":        {set(int64(1), "metadata", "generation"), "m", false},
		"equal items in the metadata": {func(_, stored map[string]any) {
			set([]any{"f", "f"}, "metadata", "finalizers")(stored, nil)
		}, "m", false},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := versionWith(t, boatSchema)
			endpoint := formsOf(t, v, "")
			config := boat(t, `{a: x, l: [1], m: [{k: a, v: x}]}`)
			config.SetFinalizers([]string{"f"})
			stored, err := endpoint.library.Apply(nil, Configuration{Content: config.Object, Manager: test.manager})
			if err != nil {
				t.Fatal(err)
			}
			test.change(config.Object, stored.Object)
			stored.Valid = v.Compiled
			applied := Configuration{Content: config.Object, Manager: test.manager}
			want, err := endpoint.library.Apply(stored, applied)
			got, gotErr := endpoint.quick.Apply(stored, applied)
			if fmt.Sprint(gotErr) != fmt.Sprint(err) {
				t.Fatalf("got %v, want %v", gotErr, err)
			}
			if err == nil && gocmp.Diff(timeless(want), timeless(got)) != "" {
				t.Errorf("got %v, want %v", got.Object, want.Object)
			}
			if isQuick := endpoint.calls.count == 0; isQuick != test.quick {
				t.Errorf("quick: %v, want %v", isQuick, test.quick)
			}
		})
	}
}
