package stock_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/stock"
	"holdfast.dev/holdfast/schema"
)

var allOptions = []stock.Options{
	{Target: stock.CEL},
	{Target: stock.CEL, CloseEscapes: true},
	{Target: stock.Policy},
	{Target: stock.Policy, CloseEscapes: true},
}

// tally counts what a run has seen.
type tally struct {
	known                                           []*exception
	compiled, refusedDefinitions, accepted, refused int
}

// differential compares the decisions about pairs of objects of one random definition. If marked is true, the
// definition also has rules in its annotation.
func (counts *tally) differential(t testing.TB, seed uint64, options stock.Options, marked bool) {
	t.Helper()
	g, known := newGenerator(seed), counts.known
	definition := g.definition()
	if marked {
		g.marks(definition)
	}
	s, refusals := newSubject(t, definition, options)
	if s == nil {
		if len(refusals) > 0 {
			counts.refusedDefinitions++
		} else {
			g.checkNothingRefused(t, rootSchema(definition))
		}
		return
	}
	counts.compiled++
	for range 25 {
		oldObj, newObj := g.update(s.root)
		if marked {
			g.setMetadata(oldObj)
			newObj["metadata"] = oldObj["metadata"]
			if g.chance(30) {
				g.setMetadata(newObj)
				setNull(newObj)
			}
			s.may = g.chance(30)
		}
		if s.compare(t, known, oldObj, newObj) {
			counts.refused++
		} else {
			counts.accepted++
		}
	}
}

// update returns an object and a change of it that keeps its kind and its metadata.
func (g *generator) update(root map[string]any) (oldObj, newObj map[string]any) {
	oldObj = g.object(root)
	newObj = g.change(root, oldObj).(map[string]any)
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		newObj[key] = oldObj[key]
	}
	return oldObj, newObj
}

// checkNothingRefused checks that package immutability refuses no update, because compile made no rule
// and refused nothing. This is right for markers on the keys of items only: another key is another item.
func (g *generator) checkNothingRefused(t testing.TB, root map[string]any) {
	t.Helper()
	decoded, _, err := schema.Decode(runtime.DeepCopyJSON(root))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := immutability.Compile(decoded)
	if err != nil {
		t.Fatal(err)
	}
	for range 25 {
		oldObj, newObj := g.update(root)
		if found := policy.Check(oldObj, newObj); len(found) > 0 {
			t.Fatalf("no rule and no refusal, and immutability refuses %v: %v", found, root)
		}
	}
}

// TestDifferential compares the compiled rules of random definitions with package immutability.
// Kubernetes' own code runs the rules.
func TestDifferential(t *testing.T) {
	seeds := uint64(100)
	if testing.Short() {
		seeds = 30
	}
	known := exceptions()
	for _, options := range allOptions {
		for _, marked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s-%t-%t", options.Target, options.CloseEscapes, marked), func(t *testing.T) {
				counts := tally{known: known}
				for seed := range seeds {
					counts.differential(t, seed, options, marked)
				}
				counts.known = nil
				t.Logf("%+v", counts)
				if counts.refusedDefinitions == 0 || counts.compiled < int(seeds/12) || counts.accepted < counts.compiled || counts.refused < counts.compiled {
					t.Errorf("too few cases: %+v", counts)
				}
			})
		}
	}
	for _, e := range known {
		if e.used == 0 && !testing.Short() {
			t.Errorf("the exception %q explains nothing: remove it", e.name)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, options := range allOptions {
			(&tally{known: exceptions()}).differential(t, seed, options, seed%2 == 1)
		}
	})
}
