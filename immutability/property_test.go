package immutability_test

import (
	stdjson "encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// judge asserts what is true for every update.
func judge(t *testing.T, s *schema.Schema, oldObj, newObj map[string]any) {
	t.Helper()
	policy, err := immutability.Compile(s)
	if err != nil {
		t.Skip(err)
	}
	oldCopy, newCopy := runtime.DeepCopyJSON(oldObj), runtime.DeepCopyJSON(newObj)
	found := policy.Check(oldObj, newObj)

	context := func() string {
		text, _ := stdjson.Marshal(map[string]any{"schema": schema.Encode(s), "old": oldObj, "new": newObj})
		return string(text) + "\n" + strings.Join(lines(found), "\n")
	}
	if !cmp.Equal(oldObj, oldCopy) || !cmp.Equal(newObj, newCopy) {
		t.Fatalf("an object was changed: %s", context())
	}
	for _, obj := range []map[string]any{oldObj, newObj} {
		if itself := policy.Check(obj, runtime.DeepCopyJSON(obj)); len(itself) > 0 {
			t.Fatalf("check(o, o) = %v: %s", lines(itself), context())
		}
	}
	if policy != nil {
		if want := refuses(s, oldObj, newObj); want != (len(found) > 0) {
			t.Fatalf("refused %v, by the rules %v: %s", len(found) > 0, want, context())
		}
	}
	if again := policy.Check(oldCopy, newCopy); !cmp.Equal(lines(again), lines(found)) {
		t.Fatalf("another order: %v: %s", lines(again), context())
	}
	for _, v := range found {
		if same(nil, presentOr(v.Operation != immutability.Added, v.Old), presentOr(v.Operation != immutability.Removed, v.New)) {
			t.Fatalf("%v: no difference: %s", v, context())
		}
		if !isAt(oldObj, v.Path, presentOr(v.Operation != immutability.Added, v.Old)) ||
			!isAt(newObj, v.Path, presentOr(v.Operation != immutability.Removed, v.New)) {
			t.Fatalf("%v: the objects have other values there: %s", v, context())
		}
	}
}

func presentOr(present bool, v any) any {
	if present {
		return v
	}
	return nothing{}
}

// isAt writes a path as text, parses the text and reports whether obj has the value v
// at the parsed path. If several items have the same keys, one of them must be v. It
// returns true if v is absent or the text was cut.
func isAt(obj map[string]any, path *value.Path, v any) bool {
	text := path.String()
	if v == (nothing{}) || strings.Contains(text, "…") {
		return true
	}
	read, err := value.ParsePath(text)
	if err != nil {
		return false
	}
	found := []any{obj}
	for _, step := range read.Steps() {
		var below []any
		for _, from := range found {
			below = append(below, follow(from, step)...)
		}
		found = below
	}
	return slices.ContainsFunc(found, func(candidate any) bool { return cmp.Equal(candidate, v) })
}

// follow returns the values that a step may name.
func follow(from any, step value.Step) (found []any) {
	if object, isObject := from.(map[string]any); isObject && step.Kind == value.Name {
		if v, present := object[step.Name]; present {
			found = append(found, v)
		}
	}
	list, _ := from.([]any)
	for i, item := range list {
		switch {
		case step.Kind == value.Index && i == step.Index,
			step.Kind == value.Member && value.Strict.Equal(item, step.Value),
			step.Kind == value.Item && value.Strict.EqualKeys(step.Keys, item, step.Value):
			found = append(found, item)
		}
	}
	return found
}

func TestCheckOnGeneratedUpdates(t *testing.T) {
	refused := 0
	for seed := range uint64(5_000) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		text := g.root(4)
		s, _, err := schema.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		oldObj, _ := g.value(text, 5).(map[string]any)
		newObj, _ := g.mutate(oldObj).(map[string]any)
		if oldObj == nil || newObj == nil {
			continue
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { judge(t, s, oldObj, newObj) })
		policy, _ := immutability.Compile(s)
		if len(policy.Check(oldObj, newObj)) > 0 {
			refused++
		}
	}
	if refused < 250 {
		t.Errorf("only %d updates were refused: the generator does not reach the rules", refused)
	}
}

// A policy is safe for concurrent use.
func TestPolicyIsShared(t *testing.T) {
	policy := compile(t, `{properties: {l: {x-kubernetes-list-type: set, x-kubernetes-immutable: true}}}`)
	oldObj, newObj := wide(100, scalarItem), wide(101, scalarItem)
	want := lines(policy.Check(oldObj, newObj))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if diff := cmp.Diff(want, lines(policy.Check(oldObj, newObj))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	group.Wait()
}
