package custom_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fieldsOf returns the fields that a manager owns, as JSON. It is empty if the manager
// owns nothing.
func fieldsOf(t *testing.T, obj *unstructured.Unstructured, manager string) string {
	t.Helper()
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager == manager {
			return entry.FieldsV1.GetRawString()
		}
	}
	return ""
}

// changeSchema replaces the schema of spec in the definition of a group.
func changeSchema(t *testing.T, group, schema string) {
	t.Helper()
	if got := (step{do: "schema", body: schema}).run(t, group); got.code != http.StatusOK {
		t.Fatal(got.text())
	}
}

// TestOwnersArePrunedWithTheSchema checks that a manager loses a field that is removed
// from the schema, although a client writes back the object as it was before.
func TestOwnersArePrunedWithTheSchema(t *testing.T) {
	t.Parallel()
	const group = "owners.example.com"
	wide := `{type: object, properties: {a: {type: string}, b: {type: string}, ` +
		`l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], ` +
		`items: {type: object, required: [k], properties: {k: {type: string}, b: {type: string}}}}}}`
	narrow := `{type: object, properties: {a: {type: string}, ` +
		`l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], ` +
		`items: {type: object, required: [k], properties: {k: {type: string}}}}}}`
	define(t, group, wide)
	shared.must(t, http.StatusCreated, apply, objectPath(group)+"?fieldManager=both", object(group, "v1", `{a: x, b: x, l: [{k: one, b: x}]}`))
	shared.must(t, http.StatusOK, apply, objectPath(group)+"?fieldManager=only", object(group, "v1", `{b: x}`))
	before := shared.must(t, http.StatusOK, "GET", objectPath(group), "")
	if got, want := fieldsOf(t, before, "only"), `{"f:spec":{"f:b":{}}}`; got != want {
		t.Fatalf("owned before: %s, want %s", got, want)
	}
	changeSchema(t, group, narrow)
	// A client writes back the object that it read before the change of the schema.
	data, err := json.Marshal(before.Object)
	if err != nil {
		t.Fatal(err)
	}
	shared.must(t, http.StatusOK, "PUT", objectPath(group)+"?fieldValidation=Ignore", string(data))
	changeSchema(t, group, wide)
	after := shared.must(t, http.StatusOK, "GET", objectPath(group), "")
	if got, want := fieldsOf(t, after, "both"), `{"f:spec":{"f:a":{},"f:l":{"k:{\"k\":\"one\"}":{".":{},"f:k":{}}}}}`; got != want {
		t.Errorf("owned after: %s, want %s", got, want)
	}
	if got := fieldsOf(t, after, "only"); got != "" {
		t.Errorf("fields of the manager that owned nothing else: %s", got)
	}
	// Another manager can apply the field without a conflict.
	shared.must(t, http.StatusOK, apply, objectPath(group)+"?fieldManager=new", object(group, "v1", `{b: "new"}`))
}

// TestOwnersBesideAWrongType checks that a stored value of a wrong type does not affect
// the owners of other fields.
func TestOwnersBesideAWrongType(t *testing.T) {
	t.Parallel()
	const group = "unfit.example.com"
	define(t, group, `{type: object, properties: {a: {type: integer}, b: {type: string}, l: {type: array, items: {type: integer}}}}`)
	shared.must(t, http.StatusCreated, "POST", objectsPath(group)+"?fieldManager=first", object(group, "v1", `{a: 1, b: x, l: [1]}`))
	changeSchema(t, group, `{type: object, properties: {a: {type: string}, b: {type: string}, l: {type: array, items: {type: integer}}}}`)
	obj := shared.must(t, http.StatusOK, merge, objectPath(group)+"?fieldManager=second", `{spec: {b: w}}`)
	if got, want := fieldsOf(t, obj, "second"), `{"f:spec":{"f:b":{}}}`; got != want {
		t.Errorf("owned by the second: %s, want %s", got, want)
	}
	obj = shared.must(t, http.StatusOK, apply, objectPath(group)+"?fieldManager=third&force=true", object(group, "v1", `{b: z}`))
	if got, want := fieldsOf(t, obj, "third"), `{"f:spec":{"f:b":{}}}`; got != want {
		t.Errorf("owned by the third: %s, want %s", got, want)
	}
	if a, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "a"); a != int64(1) {
		t.Errorf("spec.a is %v after an apply of another field", a)
	}
	// The manager can correct the value.
	obj = shared.must(t, http.StatusOK, apply, objectPath(group)+"?fieldManager=third&force=true", object(group, "v1", `{a: "1", b: z}`))
	if a, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "a"); a != "1" {
		t.Errorf("spec.a is %v after an apply of it", a)
	}
	changeSchema(t, group, `{type: object, properties: {a: {type: string}, b: {type: string}, l: {type: array, items: {type: string}}}}`)
	got, err := shared.do(apply, objectPath(group)+"?fieldManager=third&force=true", object(group, "v1", `{b: "4"}`))
	if err != nil || got.code != http.StatusBadRequest || !strings.Contains(got.text(), "spec.l[0]: must be of type string, not integer") {
		t.Errorf("an apply beside a list with a wrong type: %s, %v", got.text(), err)
	}
}
