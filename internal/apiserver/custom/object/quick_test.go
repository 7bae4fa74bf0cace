//go:build !plain

package object

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/apiserver/custom/fieldset"
	"holdfast.dev/holdfast/value"
)

// A copy of an object shares all values except the metadata.
func TestCopiesShareValues(t *testing.T) {
	for original, copied := range copies(t) {
		spec, _ := copied.Object["spec"].(map[string]any)
		other, _ := original.Object["spec"].(map[string]any)
		if !value.SameObject(spec, other) {
			t.Error("the copy has its own spec")
		}
	}
}

// Objects share the sets of fields that a field manager writes, and their texts.
func TestManagedFieldsAreShared(t *testing.T) {
	sets, _ := fieldset.New()
	const want = `{"f:spec":{"f:a":{},"f:b":{}}}`
	var first map[string]any
	for _, text := range []string{want, `{"f:spec":{"f:b":{}, "f:a":{}}}`} {
		obj := boat()
		obj.Sets = sets
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(text)}})
		set, _ := fieldset.Entries(obj.Object)[0]["fieldsV1"].(map[string]any)
		if first == nil {
			first = set
		}
		if set == nil || !value.SameObject(first, set) {
			t.Errorf("the set %s is not shared", text)
		}
		got := obj.GetManagedFields()[0].FieldsV1.GetRawBytes()
		if string(got) != want || &got[0] != &sets.TextOf(set)[0] {
			t.Errorf("text %s, want the shared text %s", got, want)
		}
	}
}

// TestFormsAgree compares the managed fields of random objects with those of an Unstructured, which is the plain form. Most must take
// the quick way.
func TestFormsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	sets, _ := fieldset.New()
	pick := func(values ...any) any { return values[r.IntN(len(values))] }
	const objects = 1000
	quickly := 0
	for range objects {
		entry := map[string]any{"operation": pick("Apply", "Update"), "fieldsType": "FieldsV1", "apiVersion": pick("a/v1", "")}
		if r.IntN(2) == 0 {
			entry["subresource"], entry["time"] = pick("status", ""), pick("2026-11-15T02:00:00Z", "2026-11-15T02:00:00+02:00")
		}
		if r.IntN(10) == 0 {
			entry[fmt.Sprint(pick("manager", "time", "fieldsV1", "other"))] = pick("text", int64(1), nil, map[string]any{"f:a": int64(1)})
		} else {
			entry["fieldsV1"] = map[string]any{"f:spec": map[string]any{fmt.Sprint("f:", pick("a", "b", "<é>")): map[string]any{}}}
		}
		content := func() map[string]any {
			return map[string]any{"metadata": map[string]any{"name": "a", "managedFields": []any{entry}}}
		}
		judge, mine := &unstructured.Unstructured{Object: content()}, Of(content())
		mine.Sets, _ = pick(sets, nil).(*fieldset.Sets)
		want, got := judge.GetManagedFields(), mine.GetManagedFields()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("get of %v (-plain +quick):\n%s", entry, diff)
		}
		judge.SetManagedFields(want)
		mine.SetManagedFields(want)
		if diff := cmp.Diff(judge.Object, mine.Object); diff != "" {
			t.Fatalf("set of %v (-plain +quick):\n%s", entry, diff)
		}
		if mine.readManager(entry, &metav1.ManagedFieldsEntry{}) {
			quickly++
		}
	}
	if quickly < objects*3/4 {
		t.Errorf("%d of %d objects took the quick way", quickly, objects)
	}
}
