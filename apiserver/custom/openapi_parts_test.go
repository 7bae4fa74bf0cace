package custom

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// partsOf returns a v2 document with a schema that has a kind and braces in its texts, one that has
// none, and two paths.
func partsOf() *spec.Swagger {
	boat := spec.StringProperty().WithDescription(`a boat: { "x-holdfast-part" }}`)
	boat.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": "g", "version": "v1", "kind": "Boat"}})
	get := spec.PathItem{PathItemProps: spec.PathItemProps{Get: &spec.Operation{OperationProps: spec.OperationProps{Description: "get {name}"}}}}
	return &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Definitions: spec.Definitions{"boat": *boat, "car": *spec.Int64Property()},
		Paths:       &spec.Paths{Paths: map[string]spec.PathItem{"/boats/{name}": get, "/cars": {}}},
	}}
}

// TestTextParts checks that a document with parts as texts is the same as the document without.
func TestTextParts(t *testing.T) {
	t.Parallel()
	whole, err := partsOf().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	parts, document := newTextParts(), partsOf()
	if err := parts.keepOwn(document, "boat"); err != nil {
		t.Fatal(err)
	}
	if len(document.Definitions["boat"].Description) > 0 || len(parts.texts) != 3 {
		t.Error("the schema or a path stays in the document")
	}
	text, err := document.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if text, err = parts.fill(text); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decoded(t, whole), decoded(t, text)); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out
}
