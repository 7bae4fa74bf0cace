package definition_test

import (
	"encoding/json"
	"strings"
	"testing"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	openapiv3 "github.com/google/gnostic-models/openapiv3"
	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/yamltest"
)

// ownFields are the properties that every published schema has.
const ownFields = `
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {$ref: ObjectMeta}
`

func published(t testing.TB, crd *definition.CustomResourceDefinition) definition.Published {
	t.Helper()
	out, err := definition.Publish(crd, crd.Spec.Versions[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPublished(t *testing.T) {
	tests := map[string]struct {
		schema string
		v2, v3 string
	}{
		"markers and descriptions": {
			schema: `
type: object
properties:
  spec:
    type: object
    properties:
      a: {type: string, description: About a., x-kubernetes-immutable: true}
      b: {type: object, additionalProperties: {type: string}, x-kubernetes-immutable-keys: true}
      c: {type: object, additionalProperties: {type: string}, description: About c., x-kubernetes-addition-only: true}
      d: {type: object, additionalProperties: {type: string}, x-kubernetes-deletion-only: true, x-kubernetes-normalize: undefined}
`,
			v2: `
type: object
properties:` + ownFields + `
  spec:
    type: object
    properties:
      a: {type: string, description: Immutable. About a., x-kubernetes-immutable: true}
      b: {type: object, description: "Keys are immutable. ", additionalProperties: {type: string}, x-kubernetes-immutable-keys: true}
      c: {type: object, description: Addition only. About c., additionalProperties: {type: string}, x-kubernetes-addition-only: true}
      d: {type: object, description: "Deletion only. ", additionalProperties: {type: string}, x-kubernetes-deletion-only: true,
          x-kubernetes-normalize: undefined}
`,
		},
		"logic and its structure": {
			schema: `{type: object, properties: {spec: {type: object, oneOf: [{properties: {a: {type: string}}}, {required: [b]}], ` +
				`properties: {b: {type: string}}}}}`,
			v2: `{type: object, properties: {` + flow + `, spec: {type: object, properties: {a: {}, b: {type: string}}}}}`,
			v3: `{type: object, properties: {` + flow + `, spec: {type: object, oneOf: [{properties: {a: {type: string}}}, ` +
				`{required: [b]}], properties: {a: {}, b: {type: string}}}}}`,
		},
		"patterns and positions": {
			schema: `
type: object
properties:
  one: {type: object, patternProperties: {"^a": {type: string, x-kubernetes-immutable: true}}}
  many: {type: object, patternProperties: {"^a": {type: string, x-kubernetes-immutable: true}, "^b": {type: integer}}}
  tuple: {type: array, items: [{type: string, x-kubernetes-immutable: true}]}
`,
			v2: `
type: object
properties:` + ownFields + `
  one: {type: object, additionalProperties: {type: string, description: "Immutable. ", x-kubernetes-immutable: true}}
  many: {type: object, additionalProperties: {}}
  tuple: {type: array, items: {}}
`,
			v3: `
type: object
properties:` + ownFields + `
  one: {type: object, additionalProperties: {type: string, description: "Immutable. ", x-kubernetes-immutable: true}}
  many: {type: object, additionalProperties: {anyOf: [{type: string, description: "Immutable. ", x-kubernetes-immutable: true},
      {type: integer}]}}
  tuple: {type: array, items: {anyOf: [{type: string, description: "Immutable. ", x-kubernetes-immutable: true},
      {x-kubernetes-preserve-unknown-fields: true}]}}
`,
		},
		"below a nullable field and below one that preserves unknown fields": {
			schema: `
type: object
required: [none]
properties:
  none: {type: object, nullable: true, properties: {a: {type: string, x-kubernetes-immutable: true}}}
  o: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string, x-kubernetes-immutable: true}}}
  p: {type: object, x-kubernetes-no-prune: true, properties: {a: {type: string, x-kubernetes-immutable: true}}}
  q: {type: array}
`,
			v2: `
type: object
properties:` + ownFields + `
  none: {}
  o: {x-kubernetes-preserve-unknown-fields: true}
  p: {x-kubernetes-preserve-unknown-fields: true, x-kubernetes-no-prune: true}
  q: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}
`,
			v3: `
type: object
required: [none]
properties:` + ownFields + `
  none: {type: object, nullable: true, properties: {a: {type: string, description: "Immutable. ", x-kubernetes-immutable: true}}}
  o: {type: object, x-kubernetes-preserve-unknown-fields: true,
      properties: {a: {type: string, description: "Immutable. ", x-kubernetes-immutable: true}}}
  p: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-no-prune: true,
      properties: {a: {type: string, description: "Immutable. ", x-kubernetes-immutable: true}}}
  q: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}
`,
		},
		"int-or-string, embedded, lists": {
			schema: `
type: object
properties:
  i: {x-kubernetes-int-or-string: true}
  j: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
  k: {x-kubernetes-int-or-string: true, anyOf: [{pattern: a}]}
  e: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: string}}}
  l:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [a]
    items: {type: object, required: [a], properties: {a: {type: string, maxLength: 5}},
        x-kubernetes-validations: [{rule: self.a != ''}], x-kubernetes-map-type: granular}
    maxItems: 3
`,
			v2: `
type: object
properties:` + ownFields + `
  i: {x-kubernetes-int-or-string: true}
  j: {x-kubernetes-int-or-string: true}
  k: {x-kubernetes-int-or-string: true}
  e: {type: object, required: [kind, apiVersion], x-kubernetes-embedded-resource: true, properties: {` + flow + `, spec: {type: string}}}
  l:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [a]
    items: {type: object, required: [a], properties: {a: {type: string, maxLength: 5}},
        x-kubernetes-validations: [{rule: self.a != ''}], x-kubernetes-map-type: granular}
    maxItems: 3
`,
			v3: `
type: object
properties:` + ownFields + `
  i: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
  j: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
  k: {x-kubernetes-int-or-string: true, anyOf: [{pattern: a}], allOf: [{anyOf: [{type: integer}, {type: string}]}]}
  e: {type: object, required: [kind, apiVersion], x-kubernetes-embedded-resource: true, properties: {` + flow + `, spec: {type: string}}}
  l:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [a]
    items: {type: object, required: [a], properties: {a: {type: string, maxLength: 5}},
        x-kubernetes-validations: [{rule: self.a != ''}], x-kubernetes-map-type: granular}
    maxItems: 3
`,
		},
		"a root that preserves unknown fields": {
			schema: `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}`,
			v2:     `{type: object}`,
			v3:     `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {` + flow + `, a: {type: string}}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := published(t, store(t, widgets(test.schema)))
			if test.v3 == "" {
				test.v3 = test.v2
			}
			v2, v3 := c.OpenAPIV2(), c.OpenAPIV3()
			if diff := cmp.Diff(plain(t, []byte(test.v2)), plain(t, asJSON(t, v2))); diff != "" {
				t.Errorf("v2 (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(plain(t, []byte(test.v3)), plain(t, asJSON(t, v3))); diff != "" {
				t.Errorf("v3 (-want +got):\n%s", diff)
			}
			for _, model := range []*spec.Schema{v2, v3} {
				kinds := asJSON(t, model.Extensions["x-kubernetes-group-version-kind"])
				if diff := cmp.Diff(`[{"group":"example.com","kind":"Widget","version":"v1"}]`, string(kinds)); diff != "" {
					t.Errorf("kind (-want +got):\n%s", diff)
				}
			}
			encodable(t, v2, v3)
		})
	}
}

// TestPublishedMetadata checks that readers find the description of metadata beside its type.
func TestPublishedMetadata(t *testing.T) {
	c := published(t, store(t, widgets(`{type: object, properties: {a: {type: string}}}`)))
	v2, v3 := c.OpenAPIV2().Properties["metadata"], c.OpenAPIV3().Properties["metadata"]
	if v2.Ref.String() == "" || len(v3.AllOf) != 1 || v3.AllOf[0].Ref.String() == "" || v3.Ref.String() != "" {
		t.Errorf("v2 %+v, v3 %+v", v2, v3)
	}
	for _, metadata := range []spec.Schema{v2, v3} {
		if !strings.HasPrefix(metadata.Description, "Standard object's metadata. ") {
			t.Errorf("description %q", metadata.Description)
		}
	}
}

func TestPublishedSelectableFields(t *testing.T) {
	c := published(t, store(t, widgets(`{type: object, properties: {a: {type: string}}}`)+"    selectableFields: [{jsonPath: .a}]\n"))
	for _, model := range []*spec.Schema{c.OpenAPIV2(), c.OpenAPIV3()} {
		got := string(asJSON(t, model.Extensions["x-kubernetes-selectable-fields"]))
		if diff := cmp.Diff(`[{"fieldPath":"a"}]`, got); diff != "" {
			t.Errorf("selectable fields (-want +got):\n%s", diff)
		}
	}
}

func TestPublishedWithoutSchema(t *testing.T) {
	c := published(t, storeV1beta1(t, widgetsV1beta1("prune: false")))
	for _, model := range []*spec.Schema{c.OpenAPIV2(), c.OpenAPIV3()} {
		if diff := cmp.Diff(map[string]any{"type": "object"}, plain(t, asJSON(t, model))); diff != "" {
			t.Errorf("published (-want +got):\n%s", diff)
		}
	}
}

const flow = `apiVersion: {type: string}, kind: {type: string}, metadata: {$ref: ObjectMeta}`

// plain decodes a published schema and removes its kind and the descriptions of
// Kubernetes' own fields.
func plain(t *testing.T, text []byte) map[string]any {
	t.Helper()
	out := yamltest.Map(t, text)
	delete(out, "x-kubernetes-group-version-kind")
	strip(out)
	return out
}

func strip(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range []string{"apiVersion", "kind", "metadata"} {
			if field, ok := v[name].(map[string]any); ok {
				delete(field, "description")
				_, isRef := field["$ref"]
				_, isAllOf := field["allOf"]
				if isRef || isAllOf {
					delete(field, "allOf")
					field["$ref"] = "ObjectMeta"
				}
			}
		}
		for _, child := range v {
			strip(child)
		}
	case []any:
		for _, child := range v {
			strip(child)
		}
	}
}

// encodable asserts that a document with the schemas can be encoded as protobuf,
// which has the keywords of OpenAPI and no others.
func encodable(t *testing.T, v2, v3 *spec.Schema) {
	t.Helper()
	info := map[string]any{"title": "x", "version": "1"}
	meta := map[string]any{"type": "object"}
	doc := asJSON(t, map[string]any{"swagger": "2.0", "info": info, "paths": map[string]any{}, "definitions": map[string]any{
		"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": meta, "x": json.RawMessage(asJSON(t, v2)),
	}})
	if _, err := openapiv2.ParseDocument(doc); err != nil {
		t.Errorf("OpenAPI v2: %v", err)
	}
	schemas := map[string]any{
		"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": meta, "x": json.RawMessage(asJSON(t, v3)),
	}
	doc = asJSON(t, map[string]any{
		"openapi": "3.0.0", "info": info, "paths": map[string]any{}, "components": map[string]any{"schemas": schemas},
	})
	if _, err := openapiv3.ParseDocument(doc); err != nil {
		t.Errorf("OpenAPI v3: %v", err)
	}
}
