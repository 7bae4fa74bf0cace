package builtin

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"holdfast.dev/holdfast/internal/native"
)

// TestQuickJSON compares the objects and errors of the codecs with those of the library.
func TestQuickJSON(t *testing.T) {
	scheme := native.NewScheme()
	library := serializer.NewCodecFactory(scheme)
	ours := NewCodecs(scheme, library)
	info, ok := runtime.SerializerInfoForMediaType(library.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		t.Fatal("no serializer for JSON")
	}
	decoded := func(codecs runtime.NegotiatedSerializer, from runtime.Decoder, text string) string {
		decoder := codecs.DecoderToVersion(from, schema.GroupVersion{Version: runtime.APIVersionInternal})
		gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
		obj, found, err := decoder.Decode([]byte(text), &gvk, &corev1.ConfigMap{})
		return fmt.Sprintf("%+v\n%v\n%v", obj, found, err)
	}
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b","a":"c"},"unknown":1}`,
		`{"apiVersion":"v1","kind":"ConfigMap","Kind":"Pod","data":{"a":"b"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":1}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}`,
		`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b",}}`,
		`{"apiVersion":"v1","kind":"ConfigMap"} {}`,
		`{"apiVersion":"v1","kind":"Secret","data":{}}`,
		`{"apiVersion":"v1","kind":"Nothing"}`,
		`{"apiVersion":"other/v1","kind":"ConfigMap"}`,
		`{"kind":"ConfigMap"}`, `{"data":{"a":"b"}}`, `{"kind":1}`, `[]`, `null`, ``, `{`,
	} {
		for _, from := range []runtime.Decoder{info.Serializer, info.StrictSerializer} {
			if diff := cmp.Diff(decoded(library, from, text), decoded(ours, from, text)); diff != "" {
				t.Errorf("%s: -library +ours:\n%s", text, diff)
			}
		}
	}
}
