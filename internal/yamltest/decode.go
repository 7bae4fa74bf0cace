// Package yamltest decodes the YAML and JSON texts of tests.
//
//	pod := yamltest.Decode[corev1.Pod](t, `{metadata: {name: a}, spec: {nodeName: n}}`)
//	crd := yamltest.Object(t, "kind: CustomResourceDefinition ...")
//	spec := yamltest.Map(t, "{replicas: 3}")
//
// All functions fail the test if a text cannot be decoded, and print the text. A key that a map in YAML has twice is an error. Whole numbers
// in untyped values are int64, as in the objects that the server decodes.
package yamltest

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Text is YAML or JSON.
type Text interface{ string | []byte }

// Decode decodes a text into a new T. A field that T does not have is an error.
func Decode[T any, S Text](t testing.TB, text S) *T {
	t.Helper()
	out := new(T)
	Into(t, text, out)
	return out
}

// Into decodes a text into a value, like yaml.UnmarshalStrict.
func Into[S Text](t testing.TB, text S, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatalf("decode %T: %v in\n%s", into, err, text)
	}
}

// Known decodes those fields of a text that T has. It is for answers of a server, of which a test reads a part.
func Known[T any, S Text](t testing.TB, text S) *T {
	t.Helper()
	out := new(T)
	decode := json.Unmarshal
	if !json.Valid([]byte(text)) {
		decode = unmarshalYAML
	}
	if err := decode([]byte(text), out); err != nil {
		t.Fatalf("decode %T: %v in\n%s", out, err, text)
	}
	return out
}

// Kind decodes an object into the Go type that a scheme has for its apiVersion and kind, without defaults. A field
// that the type does not have is an error.
func Kind[S Text](t testing.TB, scheme *runtime.Scheme, text S) runtime.Object {
	t.Helper()
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	obj, _, err := strict.Decode(JSON(t, text), nil, nil)
	if err != nil {
		t.Fatalf("decode: %v in\n%s", err, text)
	}
	return obj
}

// Value decodes a text into maps, slices and scalars.
func Value[S Text](t testing.TB, text S) any {
	t.Helper()
	var out any
	if err := utiljson.Unmarshal(JSON(t, text), &out); err != nil {
		t.Fatalf("decode: %v in\n%s", err, text)
	}
	return out
}

// Map decodes a text into a map. The map of an empty text is nil.
func Map[S Text](t testing.TB, text S) map[string]any {
	t.Helper()
	var out map[string]any
	if err := utiljson.Unmarshal(JSON(t, text), &out); err != nil {
		t.Fatalf("decode: %v in\n%s", err, text)
	}
	return out
}

// Object decodes a text into an object of any kind.
func Object[S Text](t testing.TB, text S) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: Map(t, text)}
}

// JSON returns a text as JSON. It returns JSON as it stands, so that a number such as 2.0 stays one.
func JSON[S Text](t testing.TB, text S) []byte {
	t.Helper()
	if json.Valid([]byte(text)) {
		return []byte(text)
	}
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return data
}

// unmarshalYAML decodes YAML with the types of the target: the text y becomes a string in a field of this type.
func unmarshalYAML(data []byte, into any) error { return yaml.Unmarshal(data, into) }
