package custom_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestMarkersInAnnotation checks that the markers of the annotation are in force as soon as a write
// of the definition is answered, and are published.
func TestMarkersInAnnotation(t *testing.T) {
	t.Parallel()
	const group = "annotated.example.com"
	define(t, group, `{type: object, properties: {size: {type: string, description: The size.}}}`)
	shared.must(t, http.StatusCreated, "POST", objectsPath(group), object(group, "v1", `{size: small}`))
	shared.must(t, 200, merge, objectPath(group), `{spec: {size: big}}`)

	crd := definitions + "/things." + group
	shared.must(t, 200, merge, crd, `{metadata: {annotations: {holdfast.dev/immutability: "immutable spec.size"}}}`)
	answer := shared.must(t, http.StatusBadRequest, merge, objectPath(group), `{spec: {size: huge}}`)
	const want = `spec.size: field is immutable: changed from \"big\" to \"huge\"`
	if text, err := answer.MarshalJSON(); err != nil || !strings.Contains(string(text), want) {
		t.Errorf("got %s, %v", text, err)
	}
	document := shared.must(t, 200, "GET", "/openapi/v3/apis/"+group+"/v1", "")
	if text, err := document.MarshalJSON(); err == nil && !strings.Contains(string(text), "Immutable. The size.") {
		t.Error("OpenAPI does not have the marker")
	}
	shared.must(t, http.StatusUnprocessableEntity, merge, crd, `{metadata: {annotations: {holdfast.dev/immutability: "immutable spec.sise"}}}`)

	shared.must(t, 200, merge, crd, `{metadata: {annotations: {holdfast.dev/immutability: null}}}`)
	shared.must(t, 200, merge, objectPath(group), `{spec: {size: huge}}`)
}
