package immutability_test

import (
	stdjson "encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// judge holds one update against what is always true of a check.
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
		if !stands(oldObj, v.Path.String(), presentOr(v.Operation != immutability.Added, v.Old)) ||
			!stands(newObj, v.Path.String(), presentOr(v.Operation != immutability.Removed, v.New)) {
			t.Fatalf("%v: not what stands there: %s", v, context())
		}
	}
}

func presentOr(present bool, v any) any {
	if present {
		return v
	}
	return nothing{}
}

// stands says whether value is what obj holds at path; of items with the same
// keys, whether one of them holds it. What is absent stands anywhere.
func stands(obj map[string]any, path string, value any) bool {
	if value == (nothing{}) {
		return true
	}
	// Keys that are objects or lists, and what is cut off, cannot be read back.
	if strings.Contains(path, "…") || strings.Contains(path, "={") || strings.Contains(path, "=[") {
		return true
	}
	for _, candidate := range resolve([]any{obj}, path) {
		if cmp.Equal(candidate, value) {
			return true
		}
	}
	return false
}

// resolve follows a path from each of the values.
func resolve(values []any, path string) []any {
	if path == "" {
		return values
	}
	path = strings.TrimPrefix(path, ".")
	if !strings.HasPrefix(path, "[") {
		end := strings.IndexAny(path+".", ".[")
		return resolve(members(values, path[:end]), path[end:])
	}
	if name, err := strconv.QuotedPrefix(path[1:]); err == nil {
		text, _ := strconv.Unquote(name)
		return resolve(members(values, text), path[len(name)+2:])
	}
	end := strings.IndexByte(path, ']')
	for strings.Count(path[:end], `"`)%2 == 1 {
		end += 1 + strings.IndexByte(path[end+1:], ']')
	}
	var all []any
	for _, value := range values {
		list, _ := value.([]any)
		all = append(all, items(list, path[1:end])...)
	}
	return resolve(all, path[end+1:])
}

func members(values []any, name string) (all []any) {
	for _, value := range values {
		if object, ok := value.(map[string]any); ok {
			if member, ok := object[name]; ok {
				all = append(all, member)
			}
		}
	}
	return all
}

// items are the items that a selector may mean.
func items(list []any, selector string) (all []any) {
	if i, err := strconv.Atoi(selector); err == nil {
		if i < len(list) {
			return list[i : i+1]
		}
		return nil
	}
	for _, item := range list {
		if wanted, isValue := strings.CutPrefix(selector, "="); isValue {
			text, _ := stdjson.Marshal(item)
			if string(text) == wanted {
				all = append(all, item)
			}
			continue
		}
		matches := true
		for part := range strings.SplitSeq(selector, ",") {
			key, wanted, isKey := strings.Cut(part, "=")
			object, _ := item.(map[string]any)
			text, _ := stdjson.Marshal(object[key])
			matches = matches && (!isKey || string(text) == wanted)
		}
		if matches {
			all = append(all, item)
		}
	}
	return all
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

// One policy serves all requests at once.
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
