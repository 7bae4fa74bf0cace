package documents

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
)

// TestIdentify checks what changes the hash of a document: everything that the document shows, and the
// program. A write of the definition that changes nothing in the document keeps it.
func TestIdentify(t *testing.T) {
	t.Parallel()
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	hash := func(revision string, change func(*definition.CustomResourceDefinition)) string {
		crd := &definition.CustomResourceDefinition{}
		crd.Spec.Group, crd.Annotations = gv.Group, map[string]string{}
		crd.Spec.Versions = []definition.CustomResourceDefinitionVersion{{
			Name: gv.Version, Served: true, Schema: &definition.CustomResourceValidation{OpenAPIV3Schema: json.RawMessage(`{"type":"object"}`)},
		}}
		change(crd)
		return hasher(revision).identify(gv, []*definition.CustomResourceDefinition{crd})
	}
	same := func(*definition.CustomResourceDefinition) {}
	want := hash("one", same)
	if hash("one", same) != want || hash("one", func(crd *definition.CustomResourceDefinition) { crd.ResourceVersion = "2" }) != want {
		t.Error("the hash of the same document changed")
	}
	for name, got := range map[string]string{
		"another program": hash("two", same),
		"schema": hash("one", func(crd *definition.CustomResourceDefinition) {
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema = json.RawMessage(`{"type":"object","description":"a boat"}`)
		}),
		"markers": hash("one", func(crd *definition.CustomResourceDefinition) { crd.Annotations[immutability.Annotation] = "x" }),
		"names":   hash("one", func(crd *definition.CustomResourceDefinition) { crd.Status.AcceptedNames.Plural = "boats" }),
	} {
		if got == want {
			t.Errorf("%s: the hash did not change", name)
		}
	}
}
