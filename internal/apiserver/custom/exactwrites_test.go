package custom_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestApplyNamesItsKind checks that the server refuses an apply without a kind or an API version, also if the apply only repeats the values
// of its manager.
func TestApplyNamesItsKind(t *testing.T) {
	t.Parallel()
	const group = "applykind.example.com"
	define(t, group, `{type: object, properties: {a: {type: string}}}`)
	path := objectPath(group) + "?fieldManager=m"
	whole := `{"apiVersion":"` + group + `/v1","kind":"Thing","metadata":{"name":"o"},"spec":{"a":"1"}}`
	shared.must(t, http.StatusCreated, apply, path, whole)
	shared.must(t, http.StatusOK, apply, path, whole)
	for _, without := range []string{`"apiVersion":"` + group + `/v1",`, `"kind":"Thing",`} {
		shared.must(t, http.StatusBadRequest, apply, path, strings.Replace(whole, without, "", 1))
	}
	shared.must(t, http.StatusBadRequest, apply, path, strings.Replace(whole, `"Thing"`, `null`, 1))
}

// TestNewObjectHasNoStatus checks that the rules of a schema do not see the default of the status in a new object, and that the answer and a
// GET show it.
func TestNewObjectHasNoStatus(t *testing.T) {
	t.Parallel()
	const group = "nostatus.example.com"
	shared.must(t, http.StatusCreated, "POST", definitions, things(group, `
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-validations: [{rule: "!has(self.status)", message: "status seen"}]
        properties:
          spec: {type: object, properties: {a: {type: integer}}}
          status: {type: object, default: {phase: New}, properties: {phase: {type: string}}}`))
	t.Cleanup(func() { remove(t, definitions+"/things."+group) })
	created := shared.must(t, http.StatusCreated, "POST", objectsPath(group), `{apiVersion: `+group+`/v1, kind: Thing, metadata: {name: o}, spec: {a: 1}}`)
	for _, obj := range []*unstructured.Unstructured{created, shared.must(t, http.StatusOK, "GET", objectPath(group), "")} {
		if phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase"); phase != "New" {
			t.Errorf("the phase is %q: %v", phase, obj.Object)
		}
	}
}

// TestWholeNumbers checks that an apply of 1.0 stores the integer 1, as in Kubernetes, so that a patch to 1 changes nothing.
func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	const group = "wholenumbers.example.com"
	define(t, group, `{type: object, properties: {a: {type: integer}}}`)
	applied := `{"apiVersion":"` + group + `/v1","kind":"Thing","metadata":{"name":"o"},"spec":{"a":1.0}}`
	send(t, request{method: "PATCH", path: objectPath(group) + "?fieldManager=m", media: "application/apply-patch+yaml", body: []byte(applied)})
	second := shared.must(t, http.StatusOK, merge, objectPath(group), `{"spec":{"a":1}}`)
	if generation, _, _ := unstructured.NestedFieldNoCopy(second.Object, "metadata", "generation"); fmt.Sprint(generation) != "1" {
		t.Errorf("the patch changed the generation to %v", generation)
	}
}

// TestWholeNumbersOfUpdates checks that the server takes 2.0 in a new object for the integer that it stores, as Kubernetes does, so that a
// later change of the labels does not change the generation.
func TestWholeNumbersOfUpdates(t *testing.T) {
	t.Parallel()
	const group = "wholefloats.example.com"
	define(t, group, `{type: object, properties: {a: {type: number}}}`)
	created := `{"apiVersion":"` + group + `/v1","kind":"Thing","metadata":{"name":"o","labels":{"x":"1"}},"spec":{"a":2.0}}`
	send(t, request{method: "POST", path: objectsPath(group), body: []byte(created)})
	patched := shared.must(t, http.StatusOK, merge, objectPath(group), `{"metadata":{"labels":{"x":"2"}}}`)
	if generation, _, _ := unstructured.NestedFieldNoCopy(patched.Object, "metadata", "generation"); fmt.Sprint(generation) != "1" {
		t.Errorf("the patch changed the generation to %v", generation)
	}
}

// TestPatchRemovesEmptyMetadata checks that a merge patch removes empty labels that an apply has stored, with their owner, as decoding
// does in Kubernetes.
func TestPatchRemovesEmptyMetadata(t *testing.T) {
	t.Parallel()
	const group = "emptymetadata.example.com"
	define(t, group, `{type: object, properties: {a: {type: string}}}`)
	shared.must(t, http.StatusCreated, apply, objectPath(group)+"?fieldManager=m",
		`{apiVersion: `+group+`/v1, kind: Thing, metadata: {name: o, labels: {}}, spec: {a: "1"}}`)
	patched := shared.must(t, http.StatusOK, merge, objectPath(group), `{spec: {a: "2"}}`)
	if _, found, _ := unstructured.NestedMap(patched.Object, "metadata", "labels"); found {
		t.Errorf("the labels are still there: %v", patched.Object["metadata"])
	}
}

// TestCreateWithUnknownMediaType checks that the server looks at the media type of a new object before it looks at the options.
func TestCreateWithUnknownMediaType(t *testing.T) {
	t.Parallel()
	const group = "mediatype.example.com"
	define(t, group, `{type: object}`)
	shared.must(t, http.StatusUnsupportedMediaType, "POST text/plain", objectsPath(group)+"?dryRun=Bad", `{}`)
}
