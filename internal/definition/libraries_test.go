package definition_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/v1beta1"
	"holdfast.dev/holdfast/internal/yamltest"
)

// Upstream's libraries build the types of server-side apply from Typed.
func TestTypedForServerSideApply(t *testing.T) {
	crd := store(t, widgets(`
type: object
properties:
  free: {type: object, x-kubernetes-no-prune: true, properties: {deep: {type: object, properties: {a: {type: string}}}}}
  untyped: {properties: {a: {type: string}}}
  set: {type: array, x-kubernetes-list-type: set, items: {type: object, x-kubernetes-map-type: atomic, properties: {a: {type: string}}}}
  patterns: {type: object, patternProperties: {"^a": {type: string}, "^b": {type: integer}}}
  tuple: {type: array, items: [{type: string}, {type: integer}]}
  logic: {type: object, anyOf: [{properties: {a: {type: string}}}]}
`))
	typed, err := definition.Typed(crd)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := builder.BuildOpenAPIV3(typed, "v1", builder.Options{StripValueValidation: true, StripNullable: true, AllowNonStructural: true})
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]*spec.Schema{}
	for name, model := range doc.Components.Schemas {
		models[name] = model
	}
	converter, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{Object: yamltest.Map(t, `
apiVersion: example.com/v1
kind: Widget
metadata: {name: a}
free: {deep: {a: x, other: 1}, unknown: [1]}
untyped: {a: x}
set: [{a: x}, {a: z}]
patterns: {a1: x, b1: 2}
tuple: [x, 1, true]
logic: {a: x}
`)}
	value, err := converter.ObjectToTyped(obj)
	if err != nil {
		t.Fatal(err)
	}
	back, err := converter.TypedToObject(value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(obj.Object, back.(*unstructured.Unstructured).Object); diff != "" {
		t.Errorf("there and back (-want +got):\n%s", diff)
	}
}

func TestTypedOfAnInvalidSchema(t *testing.T) {
	if _, err := definition.Typed(read(t, widgets(`[false]`))); err == nil {
		t.Error("no error")
	}
}

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{definition.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// A definition that is written in v1beta1 is stored as v1 and read again in
// v1beta1, without the loss of a keyword of its schema.
func TestScheme(t *testing.T) {
	scheme := newScheme(t)
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	group := func(version string) schema.GroupVersion {
		return schema.GroupVersion{Group: definition.GroupName, Version: version}
	}
	const text = `{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
		"spec":{"group":"example.com","version":"v1","names":{"plural":"widgets","kind":"Widget"},"prune":true,
		"additionalPrinterColumns":[{"name":"A","type":"string","JSONPath":".a"}],
		"validation":{"openAPIV3Schema":{"type":"object","x-kubernetes-no-prune":true}}}}`
	obj, err := runtime.Decode(codecs.UniversalDecoder(group(runtime.APIVersionInternal)), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	crd := accept(t, definition.Write{APIVersion: definition.V1beta1}, obj.(*definition.CustomResourceDefinition))
	stored, err := runtime.Encode(codecs.LegacyCodec(group("v1")), crd)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1",` +
		`"metadata":{"name":"widgets.example.com","generation":1},` +
		`"spec":{"group":"example.com",` +
		`"names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"scope":"Namespaced",` +
		`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-no-prune":true}},` +
		`"additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":".a"}]}],"conversion":{"strategy":"None"}},` +
		`"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":["v1"]}}` + "\n"
	if diff := cmp.Diff(want, string(stored)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	again, err := runtime.Decode(codecs.UniversalDecoder(group("v1beta1")), stored)
	if err != nil {
		t.Fatal(err)
	}
	back := again.(*v1beta1.CustomResourceDefinition)
	if back.Spec.Validation == nil || back.Spec.Version != "v1" || *back.Spec.PreserveUnknownFields ||
		back.Spec.AdditionalPrinterColumns[0].JSONPath != ".a" {
		t.Errorf("read as v1beta1: %+v", back.Spec)
	}

	list := &definition.CustomResourceDefinitionList{Items: []definition.CustomResourceDefinition{*crd}}
	out, err := scheme.ConvertToVersion(list.DeepCopyObject(), group("v1beta1"))
	if err != nil {
		t.Fatal(err)
	}
	if got := out.(*v1beta1.CustomResourceDefinitionList); len(got.Items) != 1 || got.Items[0].Spec.Version != "v1" {
		t.Errorf("list as v1beta1: %+v", got)
	}
	in, err := scheme.ConvertToVersion(out.DeepCopyObject(), group("v1"))
	if err != nil {
		t.Fatal(err)
	}
	items := in.(*definition.CustomResourceDefinitionList).Items
	definition.Write{APIVersion: definition.V1beta1, Old: crd}.Prepare(&items[0])
	if diff := cmp.Diff(list.Items, items); diff != "" {
		t.Errorf("list there and back (-want +got):\n%s", diff)
	}
}
