package managers

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/yamltest"
)

// TestFind says which sets are kept: those that the library would write again.
func TestFind(t *testing.T) {
	t.Parallel()
	recorder := kinds(t)[0][0]
	value, err := recorder.typed(yamltest.Kind(t, recorder.Scheme, objects[0]))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`{"f:data":{"f:a":{}}}`:            true,
		`{"f:data":{".":{},"f:a":{}}}`:     true,
		`{"f:data":{"f:a":{},".":{}}}`:     false, // in another order
		`{"f:data": {"f:a":{}}}`:           false,
		`{"f:metadata":{"f:uid":{}}}`:      false,
		`{"f:metadata":{"f:labels":{}}}`:   true,
		`{}`:                               false,
		`{"f:data":`:                       false,
		`{"f:data":{"x:a":{}}}`:            false,
		`{"f:unknown":{"f:a":{}}}`:         true, // the library keeps it
		`{"f:immutable":{},"f:kind":{}}`:   false,
		`{"f:binaryData":{},"f:data":{}}`:  true,
		`{"f:data":{},"f:binaryData":{}}`:  false,
		`{"f:immutable":{},"f:data":{},}`:  false,
		`{"f:data":{"f:a":{}},"f:data":1}`: false,
	} {
		for range 2 { // the second time from the cache
			set := recorder.Sets.find(recorder.Kind, &metav1.ManagedFieldsEntry{FieldsV1: metav1.NewFieldsV1(text)}, value)
			if got := set != nil; got != want {
				t.Errorf("%s is kept: %t, want %t", text, got, want)
			}
		}
	}
}

// TestAudit changes a kept set, as code that writes to shared memory would.
func TestAudit(t *testing.T) {
	t.Parallel()
	recorder := kinds(t)[0][0]
	value, err := recorder.typed(yamltest.Kind(t, recorder.Scheme, objects[0]))
	if err != nil {
		t.Fatal(err)
	}
	entry := &metav1.ManagedFieldsEntry{FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`)}
	set := recorder.Sets.find(recorder.Kind, entry, value)
	if !isRight(entry.FieldsV1.GetRawString(), set) || !isRight("anything", nil) {
		t.Error("a right set is wrong")
	}
	set.Insert(fieldpath.MakePathOrDie("data", "b"))
	if isRight(entry.FieldsV1.GetRawString(), set) {
		t.Error("a wrong set is right")
	}
	recorder.Sets.Audited()[0].Drop()
	if again := recorder.Sets.find(recorder.Kind, entry, value); again == set || again.Size() != 1 {
		t.Errorf("the set is %v after it was dropped", again)
	}
}
