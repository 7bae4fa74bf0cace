package mergepatch

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/yamltest"
)

// versionOf returns a version whose objects have a spec with a schema.
func versionOf(t testing.TB, schema string) *kind.Version {
	t.Helper()
	text := yamltest.JSON(t, `{type: object, properties: {spec: `+schema+`}}`)
	crd := &definition.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "boats.example.com"}}
	crd.Spec.Group, crd.Spec.Scope = "example.com", apiextensionsv1.NamespaceScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "boats", Kind: "Boat"}
	crd.Spec.Versions = []definition.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true, Storage: true, Schema: &definition.CustomResourceValidation{OpenAPIV3Schema: text},
	}}
	crd.Status.AcceptedNames = crd.Spec.Names
	converters, err := conversion.NewCRConverterFactory(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]*spec.Schema{metav1.ObjectMeta{}.OpenAPIModelName(): spec.MapProperty(nil)}
	k := kind.New(crd, &kind.Config{Converters: converters, Models: models, Observe: func(time.Time, error) {}})
	if err := errors.Join(k.Compile(), k.CompileWrites()); err != nil {
		t.Fatal(err)
	}
	return k.Versions["v1"]
}

// TestUnusualPatches checks which patches take the quick way, and the errors of the library.
func TestUnusualPatches(t *testing.T) {
	t.Parallel()
	const plain = `{type: object, properties: {a: {type: string}, n: {type: integer}}}`
	const normalized = `{type: object, properties: {a: {type: string}, l: {type: array, x-kubernetes-normalize: undefined,
		items: {type: string}}}}`
	const embedding = `{type: object, properties: {a: {type: string}, e: {type: object, x-kubernetes-embedded-resource: true,
		x-kubernetes-preserve-unknown-fields: true}}}`
	cases := map[string]struct {
		schema, patch string
		unseen        *immutability.Unseen
		quick         bool
		// want is a part of the error.
		want string
	}{
		"a value":                       {schema: plain, patch: `{"spec":{"a":"y"}}`, quick: true},
		"a label":                       {schema: plain, patch: `{"metadata":{"labels":{"x":"2"}}}`, quick: true},
		"a resource version":            {schema: plain, patch: `{"metadata":{"resourceVersion":"2"}}`, quick: true},
		"no resource version":           {schema: plain, patch: `{"metadata":{"resourceVersion":""}}`},
		"another name":                  {schema: plain, patch: `{"metadata":{"name":"b"}}`},
		"a value of another type":       {schema: plain, patch: `{"spec":{"a":1}}`},
		"a new value":                   {schema: plain, patch: `{"spec":{"n":1}}`},
		"values that a version lacks":   {schema: plain, patch: `{"spec":{"a":"y"}}`, unseen: &immutability.Unseen{}},
		"a schema that normalizes":      {schema: normalized, patch: `{"spec":{"a":"y"}}`},
		"a schema that embeds":          {schema: embedding, patch: `{"spec":{"a":"y"}}`},
		"a large patch":                 {schema: plain, patch: `{"spec":{"a":"` + strings.Repeat("y", largest) + `"}}`},
		"a duplicate":                   {schema: plain, patch: `{"spec":{"a":"y","a":"z"}}`},
		"a list":                        {schema: plain, patch: `[]`},
		"null":                          {schema: plain, patch: `null`, want: "Invalid JSON Patch"},
		"no kind":                       {schema: plain, patch: `{"kind":null}`},
		"a number as kind":              {schema: plain, patch: `{"kind":1}`},
		"an object without an API":      {schema: plain, patch: `{"apiVersion":null}`},
		"a patch that replaces nothing": {schema: plain, patch: `{}`, quick: true},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := versionOf(t, test.schema)
			stored := object.New(v.GroupVersionKind())
			stored.Object["metadata"] = map[string]any{"name": "a", "resourceVersion": "1", "labels": map[string]any{"x": "1"}}
			stored.Object["spec"] = map[string]any{"a": "x"}
			stored.Unseen = test.unseen
			result, err := newQuick(v, text.New(nil)).Patch(stored, []byte(test.patch))
			if (result.Object != nil) != test.quick || (result.Text == nil) != (test.quick || err != nil) {
				t.Errorf("object %v, text %.100s, quick %v", result.Object, result.Text, test.quick)
			}
			if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
				t.Errorf("error %s, want %s", got, test.want)
			}
		})
	}
}
