package custom_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fieldsOf is what a manager owns, as JSON; empty if it owns nothing.
func fieldsOf(t *testing.T, obj *unstructured.Unstructured, manager string) string {
	t.Helper()
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager == manager {
			return entry.FieldsV1.GetRawString()
		}
	}
	return ""
}

// Who owned a field that left the schema owns it no more, whatever of the two is
// read or written first.
func TestOwnersArePrunedWithTheSchema(t *testing.T) {
	const group = "owners.example.com"
	wide := `{type: object, properties: {a: {type: string}, b: {type: string}, l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}, b: {type: string}}}}}}`
	narrow := `{type: object, properties: {a: {type: string}, l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}}}}}}`
	define(t, group, wide)
	shared.must(t, http.StatusCreated, apply, objectPath(group)+"?fieldManager=both", object(group, "v1", `{a: x, b: x, l: [{k: one, b: x}]}`))
	shared.must(t, http.StatusOK, apply, objectPath(group)+"?fieldManager=only", object(group, "v1", `{b: x}`))
	before := shared.must(t, http.StatusOK, "GET", objectPath(group), "")
	if got, want := fieldsOf(t, before, "only"), `{"f:spec":{"f:b":{}}}`; got != want {
		t.Fatalf("owned before: %s, want %s", got, want)
	}
	if got := (step{do: "schema", body: narrow}).run(t, group); got.code != http.StatusOK {
		t.Fatal(got.text())
	}
	// A client that read before writes back what it read.
	data, err := json.Marshal(before.Object)
	if err != nil {
		t.Fatal(err)
	}
	shared.must(t, http.StatusOK, "PUT", objectPath(group)+"?fieldValidation=Ignore", string(data))
	if got := (step{do: "schema", body: wide}).run(t, group); got.code != http.StatusOK {
		t.Fatal(got.text())
	}
	after := shared.must(t, http.StatusOK, "GET", objectPath(group), "")
	if got, want := fieldsOf(t, after, "both"), `{"f:spec":{"f:a":{},"f:l":{"k:{\"k\":\"one\"}":{".":{},"f:k":{}}}}}`; got != want {
		t.Errorf("owned after: %s, want %s", got, want)
	}
	if got := fieldsOf(t, after, "only"); got != "" {
		t.Errorf("owned by who owned nothing else: %s", got)
	}
	// The field is free for another.
	shared.must(t, http.StatusOK, apply, objectPath(group)+"?fieldManager=new", object(group, "v1", `{b: "new"}`))
}

// A value of a wrong type, about to be refused or stored by another schema, does
// not keep others from being owned.
func TestOwnersBesideAWrongType(t *testing.T) {
	const group = "unfit.example.com"
	define(t, group, `{type: object, properties: {a: {type: integer}, b: {type: string}, l: {type: array, items: {type: integer}}}}`)
	shared.must(t, http.StatusCreated, "POST", objectsPath(group)+"?fieldManager=first", object(group, "v1", `{a: 1, b: x, l: [1]}`))
	if got := (step{do: "schema", body: `{type: object, properties: {a: {type: string}, b: {type: string}, l: {type: array, items: {type: integer}}}}`}).run(t, group); got.code != http.StatusOK {
		t.Fatal(got.text())
	}
	obj := shared.must(t, http.StatusOK, merge, objectPath(group)+"?fieldManager=second", `{spec: {b: w}}`)
	if got, want := fieldsOf(t, obj, "second"), `{"f:spec":{"f:b":{}}}`; got != want {
		t.Errorf("owned by the second: %s, want %s", got, want)
	}
	obj = shared.must(t, http.StatusOK, apply, objectPath(group)+"?fieldManager=third&force=true", object(group, "v1", `{b: z}`))
	if got, want := fieldsOf(t, obj, "third"), `{"f:spec":{"f:b":{}}}`; got != want {
		t.Errorf("owned by the third: %s, want %s", got, want)
	}
	if a, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "a"); a != float64(1) && a != int64(1) {
		t.Errorf("spec.a is %v after an apply of another field", a)
	}
	// The applier may set it right.
	obj = shared.must(t, http.StatusOK, apply, objectPath(group)+"?fieldManager=third&force=true", object(group, "v1", `{a: "1", b: z}`))
	if a, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "a"); a != "1" {
		t.Errorf("spec.a is %v after an apply of it", a)
	}
	if got := (step{do: "schema", body: `{type: object, properties: {a: {type: string}, b: {type: string}, l: {type: array, items: {type: string}}}}`}).run(t, group); got.code != http.StatusOK {
		t.Fatal(got.text())
	}
	got, err := shared.do(apply, objectPath(group)+"?fieldManager=third&force=true", object(group, "v1", `{b: "4"}`))
	if err != nil || got.code != http.StatusBadRequest || !strings.Contains(got.text(), "spec.l[0]: must be of type string, not integer") {
		t.Errorf("an apply beside a list with a wrong type: %s, %v", got.text(), err)
	}
}
