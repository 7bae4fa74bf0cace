package definition_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/definition"
	"holdfast.dev/holdfast/immutability"
)

// TestDecoded checks that the warnings after Validate are those of the definition as it is then: the same one, another one, or one
// that was changed.
func TestDecoded(t *testing.T) {
	t.Parallel()
	const odd = `{type: object, properties: {spec: {type: object, properties: {a: {type: string, format: odd}}}}}`
	const plain = `{type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}`
	for name, test := range map[string]struct {
		schema string
		change func(crd *definition.CustomResourceDefinition) *definition.CustomResourceDefinition
	}{
		"same": {odd, func(crd *definition.CustomResourceDefinition) *definition.CustomResourceDefinition { return crd }},
		"another definition": {odd, func(*definition.CustomResourceDefinition) *definition.CustomResourceDefinition {
			return store(t, widgets(plain))
		}},
		"another schema": {plain, func(crd *definition.CustomResourceDefinition) *definition.CustomResourceDefinition {
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","format":"odd"}}}`)
			return crd
		}},
		"another annotation": {plain, func(crd *definition.CustomResourceDefinition) *definition.CustomResourceDefinition {
			crd.Annotations = map[string]string{immutability.Annotation: "spec.a: immutable"}
			return crd
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := definition.Write{APIVersion: definition.V1, Decoded: &definition.Decoded{}}
			crd := store(t, widgets(test.schema))
			if errs := w.Validate(t.Context(), crd); len(errs) > 0 {
				t.Fatal(errs)
			}
			crd = test.change(crd)
			want := definition.Write{APIVersion: definition.V1}.Warnings(crd)
			// The second call finds nothing that is held.
			for range 2 {
				if diff := cmp.Diff(want, w.Warnings(crd)); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			}
		})
	}
}
