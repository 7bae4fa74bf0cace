package object

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

func boat() *Object {
	return Of(map[string]any{
		"apiVersion": "sea.example.com/v1", "kind": "Boat",
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"x": "y"}},
		"spec":     map[string]any{"sails": int64(2)},
	})
}

// copies returns the copy of an object and that of an item of a list, by their originals.
func copies(t *testing.T) map[*Object]*Object {
	t.Helper()
	obj := boat()
	list := &List{Items: []Object{*boat()}}
	listCopy, isList := list.DeepCopyObject().(*List)
	if !isList {
		t.Fatal("the copy of a list is no list")
	}
	return map[*Object]*Object{obj: From(obj.DeepCopyObject()), &list.Items[0]: &listCopy.Items[0]}
}

// A copy of an object has its own metadata.
func TestCopies(t *testing.T) {
	for original, copied := range copies(t) {
		if diff := cmp.Diff(boat().Object, copied.Object); diff != "" {
			t.Errorf("the copy is not equal (-want +got):\n%s", diff)
		}
		copied.SetName("b")
		copied.SetLabels(nil)
		copied.Object["status"] = "new"
		if diff := cmp.Diff(boat().Object, original.Object); diff != "" {
			t.Errorf("a change of the copy changed the object (-want +got):\n%s", diff)
		}
	}
}

// The libraries see in an object, and in a list, what they see in an Unstructured.
func TestObjectsAreUnstructured(t *testing.T) {
	obj := boat()
	list := NewList(obj.GroupVersionKind().GroupVersion().WithKind("BoatList"))
	list.SetResourceVersion("7")
	list.Items = []Object{*obj, *boat()}
	for title, one := range map[string]runtime.Unstructured{"object": obj, "list": list} {
		known, _ := AsUnstructured(one).(runtime.Unstructured)
		if _, isOwn := known.(*Object); isOwn || known.GetObjectKind().GroupVersionKind() != one.GetObjectKind().GroupVersionKind() {
			t.Errorf("%s: plain is %T of %v", title, known, known.GetObjectKind().GroupVersionKind())
		}
		if diff := cmp.Diff(known.UnstructuredContent(), one.UnstructuredContent()); diff != "" {
			t.Errorf("%s: content (-plain +own):\n%s", title, diff)
		}
		want, errPlain := json.Marshal(known)
		got, errOwn := json.Marshal(one)
		if errPlain != nil || errOwn != nil || string(want) != string(got) {
			t.Errorf("%s: %s (%v), want %s (%v)", title, got, errOwn, want, errPlain)
		}
		again := one.NewEmptyInstance()
		if err := json.Unmarshal(got, again); err != nil || !apiequality.Semantic.DeepEqual(one, again) {
			t.Errorf("%s: decoded %v: %v", title, again, err)
		}
		if back := FromUnstructured(known); !apiequality.Semantic.DeepEqual(one, back) {
			t.Errorf("%s: own returns %v", title, back)
		}
		if one.IsList() != known.IsList() || meta.IsListType(one) != meta.IsListType(known) {
			t.Errorf("%s: IsList %t", title, one.IsList())
		}
	}
	items, err := meta.ExtractList(list)
	if err != nil || len(items) != 2 {
		t.Fatalf("%v: %v", items, err)
	}
	if _, isOwn := items[0].(*Object); !isOwn {
		t.Errorf("an item is %T", items[0])
	}
}
