package custom

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/value"
)

// owned returns an object whose managed fields have one set.
func owned(t *testing.T, fields string) *object {
	t.Helper()
	obj := objectOf(map[string]any{})
	text := fmt.Sprintf(`{"metadata":{"managedFields":[{"manager":"m","operation":"Update","fieldsV1":%s}]}}`, fields)
	if err := json.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

func setOf(t *testing.T, obj *object) map[string]any {
	t.Helper()
	fields, ok := managedEntries(obj.Object)[0]["fieldsV1"].(map[string]any)
	if !ok {
		t.Fatalf("no set in %v", obj.Object)
	}
	return fields
}

func TestFieldSetsAreShared(t *testing.T) {
	t.Parallel()
	format, sets := newFormat()
	first, second := owned(t, `{"f:spec":{"f:b":{},"f:a":{}}}`), owned(t, `{"f:spec": {"f:a": {}, "f:b": {}}}`)
	other, odd := owned(t, `{"f:spec":{"f:a":{}}}`), owned(t, `{"f:spec":1}`)
	for _, obj := range []*object{first, second, other, odd} {
		obj.sets = sets
		sets.share(obj.Object)
	}
	if !value.SameObject(setOf(t, first), setOf(t, second)) || value.SameObject(setOf(t, first), setOf(t, other)) {
		t.Error("equal sets are not shared, or different ones are")
	}
	const want = `{"f:spec":{"f:a":{},"f:b":{}}}`
	if got := string(first.GetManagedFields()[0].FieldsV1.GetRawBytes()); got != want || string(sets.TextOf(setOf(t, first))) != want {
		t.Errorf("text %s, want %s", got, want)
	}
	if sets.TextOf(setOf(t, odd)) != nil {
		t.Error("a set with other values than objects is cached")
	}
	for _, obj := range []*object{first, other, odd} {
		plainText, err := json.Marshal(obj.Object)
		if err != nil {
			t.Fatal(err)
		}
		got, err := format.Append(nil, obj.Object)
		if diff := cmp.Diff(string(plainText), string(got)); diff != "" || err != nil {
			t.Errorf("-encoding/json +got, %v:\n%s", err, diff)
		}
	}
	third := objectOf(map[string]any{"metadata": map[string]any{}})
	third.sets = sets
	third.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:b":{}, "f:a":{}}}`)}})
	if !value.SameObject(setOf(t, first), setOf(t, third)) {
		t.Error("a set that a field manager wrote is not shared")
	}
}

func TestFieldSetsStayWithinTheirBound(t *testing.T) {
	t.Parallel()
	_, sets := newFormat()
	long := make([]byte, maxFieldSet/2)
	for i := range long {
		long[i] = 'x'
	}
	for i := range 3 * maxFieldSets / len(long) {
		sets.share(owned(t, fmt.Sprintf(`{"f:%d%s":{}}`, i, long)).Object)
		if len(sets.byText) != len(sets.bySet) || sets.size > maxFieldSets {
			t.Fatalf("%d sets by text, %d in memory, %d bytes", len(sets.byText), len(sets.bySet), sets.size)
		}
	}
	large := owned(t, fmt.Sprintf(`{"f:%s%s":{}}`, long, long))
	if sets.share(large.Object); sets.TextOf(setOf(t, large)) != nil {
		t.Error("a set larger than maxFieldSet is cached")
	}
}
