package custom

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTreesStayWithinTheirBound(t *testing.T) {
	cache, first, second := newTrees(), &version{resource: &resource{}}, &version{resource: &resource{}}
	for i := range 3 * maxTrees / maxTreeText {
		for _, v := range []*version{first, second} {
			text := make([]byte, maxTreeText)
			copy(text, fmt.Sprint(i))
			cache.add(v, text, &object{})
		}
		sum := 0
		for _, entry := range cache.entries {
			sum += len(entry.text)
		}
		if sum != cache.size || sum > maxTrees {
			t.Fatalf("after %d trees: %d bytes, counted %d, at most %d are allowed", i, sum, cache.size, maxTrees)
		}
	}
	large := make([]byte, maxTreeText+1)
	if cache.add(first, large, &object{}); cache.get(first, large) != nil {
		t.Error("a tree with a text larger than maxTreeText is cached")
	}
	cache.drop(first)
	for key := range cache.entries {
		if key.version == first {
			t.Fatal("a tree of a closed version is still cached")
		}
	}
}

// The setters of metav1.Object and the strategies change the maps of the object and of its
// metadata. Such a change of one object must not reach the others.
func TestTreesAreSharedBelowTheMetadata(t *testing.T) {
	cache, v, text := newTrees(), &version{}, []byte("text")
	decoded := objectOf(map[string]any{
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"x": "y"}, "finalizers": []any{"f"}},
		"spec":     map[string]any{"a": int64(1)},
	})
	decoded.valid = v
	cache.add(v, text, decoded)
	for range 2 {
		got := cache.get(v, text)
		if got.valid != v || got.GetName() != "a" || got.GetResourceVersion() != "" || got.GetLabels()["x"] != "y" || len(got.GetFinalizers()) != 1 {
			t.Fatalf("%v", got.Object)
		}
		if diff := cmp.Diff(decoded.Object["spec"], got.Object["spec"]); diff != "" {
			t.Fatalf("-decoded +cached:\n%s", diff)
		}
		for _, obj := range []*object{decoded, got} {
			obj.SetResourceVersion("7")
			obj.SetLabels(map[string]string{"x": "z"})
			obj.SetFinalizers(nil)
		}
		delete(got.Object, "status")
		got.Object["spec"] = "another"
	}
	if cache.get(v, []byte("next")) != nil || cache.get(&version{}, text) != nil {
		t.Error("an object of another text or version")
	}
}
