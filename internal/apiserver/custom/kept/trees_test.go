package kept

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/definition"
)

func TestTreesStayWithinTheirBound(t *testing.T) {
	trees, first, second := newTrees(), &kind.Version{}, &kind.Version{}
	text := func(i int) []byte {
		out := make([]byte, largest)
		copy(out, fmt.Sprint(i))
		return out
	}
	const added = 3 * limit / largest
	for i := range added {
		for _, v := range []*kind.Version{first, second} {
			trees.Add(v, text(i), &object.Object{})
		}
	}
	count := func(v *kind.Version) (kept int) {
		for i := range added {
			if trees.Get(v, text(i)) != nil {
				kept++
			}
		}
		return kept
	}
	if kept := count(first) + count(second); kept != limit/largest {
		t.Errorf("%d trees are kept, want %d", kept, limit/largest)
	}
	large := make([]byte, largest+1)
	if trees.Add(first, large, &object.Object{}); trees.Get(first, large) != nil {
		t.Error("a tree with a larger text is kept")
	}
	before := count(second)
	if trees.Drop(first); count(first) != 0 || count(second) != before {
		t.Error("a tree of a closed version is kept, or one of another version is not")
	}
}

// The setters of metav1.Object and the strategies change the maps of the object and of its
// metadata. Such a change of one object must not reach the others.
func TestTreesAreSharedBelowTheMetadata(t *testing.T) {
	trees, v, text := newTrees(), &kind.Version{}, []byte("text")
	valid := &definition.Compiled{}
	decoded := object.Of(map[string]any{
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"x": "y"}, "finalizers": []any{"f"}},
		"spec":     map[string]any{"a": int64(1)},
	})
	decoded.Valid = valid
	trees.Add(v, text, decoded)
	for range 2 {
		got := trees.Get(v, text)
		if got.Valid != valid || got.GetName() != "a" || got.GetResourceVersion() != "" || got.GetLabels()["x"] != "y" || len(got.GetFinalizers()) != 1 {
			t.Fatalf("%v", got.Object)
		}
		if diff := cmp.Diff(decoded.Object["spec"], got.Object["spec"]); diff != "" {
			t.Fatalf("-decoded +cached:\n%s", diff)
		}
		for _, obj := range []*object.Object{decoded, got} {
			obj.SetResourceVersion("7")
			obj.SetLabels(map[string]string{"x": "z"})
			obj.SetFinalizers(nil)
		}
		delete(got.Object, "status")
		got.Object["spec"] = "another"
	}
	if trees.Get(v, []byte("next")) != nil || trees.Get(&kind.Version{}, text) != nil {
		t.Error("an object of another text or version")
	}
}

// TestWrongTree keeps a wrong object for a text. Only a read of the same version with exactly this text returns it. So an object that is
// added must be what its text is decoded to, which a build with the tag frozen checks when it stores an object.
func TestWrongTree(t *testing.T) {
	t.Parallel()
	trees, v := newTrees(), &kind.Version{}
	trees.Add(v, []byte(`{"spec":1}`), object.Of(map[string]any{"spec": int64(2)}))
	if got := trees.Get(v, []byte(`{"spec":1}`)); got == nil || got.Object["spec"] != int64(2) {
		t.Errorf("the wrong object is not returned: %v", got)
	}
	for name, got := range map[string]*object.Object{
		"another version": trees.Get(&kind.Version{}, []byte(`{"spec":1}`)),
		"another text":    trees.Get(v, []byte(`{"spec":2}`)),
		"a longer text":   trees.Get(v, []byte(`{"spec":1} `)),
	} {
		if got != nil {
			t.Errorf("%s returns %v", name, got.Object)
		}
	}
	trees.Add(v, []byte(`{"spec":1}`), object.Of(map[string]any{"spec": int64(1)}))
	if got := trees.Get(v, []byte(`{"spec":1}`)); got == nil || got.Object["spec"] != int64(1) {
		t.Errorf("the object is not replaced: %v", got)
	}
}
