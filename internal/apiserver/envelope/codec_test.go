package envelope

import (
	"bytes"
	"math/rand"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"holdfast.dev/holdfast/internal/native"
)

// codecOf returns the codec of the library with which the storage stores the objects of a kind.
func codecOf(t testing.TB, scheme *runtime.Scheme, kind schema.GroupVersionKind) runtime.Codec {
	t.Helper()
	codecs := serializer.NewCodecFactory(scheme)
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		t.Fatal("no serializer for protobuf")
	}
	internal := schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}
	return codecs.CodecForVersions(info.Serializer, codecs.UniversalDeserializer(), kind.GroupVersion(), internal)
}

// TestCodec encodes and decodes random objects of all kinds with both forms.
func TestCodec(t *testing.T) {
	scheme, seed := native.NewScheme(), int64(1)
	quick, all := 0, 0
	for _, kind := range native.Kinds() {
		gvk := kind.GroupVersionKind()
		plain := codecOf(t, scheme, gvk)
		made := newCodec(plain, scheme, gvk)
		c, ok := made.(*codec)
		if !ok {
			t.Logf("%s has no quick form", gvk.Kind)
		}
		for range 40 {
			seed++
			obj := kind.New()
			newFiller(seed).Fill(obj)
			obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
			text, want := encoded(t, made, obj), encoded(t, plain, obj)
			if !bytes.Equal(text, want) {
				t.Fatalf("%s is encoded as %q, want %q", gvk.Kind, text, want)
			}
			dirty := kind.New()
			newFiller(seed + 1).Fill(dirty)
			for name, into := range map[string]runtime.Object{"nothing": nil, "a new object": kind.New(), "a used object": dirty} {
				compare(t, gvk.Kind+" into "+name, made, plain, text, into)
			}
			if all++; ok && c.quick(text, nil) != nil {
				quick++
			}
		}
	}
	if quick < all*9/10 {
		t.Errorf("%d of %d objects take the quick way", quick, all)
	}
}

// TestOtherEnvelopes decodes objects that do not have the envelope of the kind, or no envelope.
func TestOtherEnvelopes(t *testing.T) {
	scheme := native.NewScheme()
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	plain := codecOf(t, scheme, kind)
	made := newCodec(plain, scheme, kind)
	text := encoded(t, plain, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"a": "b"}})
	for name, text := range map[string][]byte{
		"nothing":       {},
		"a prefix":      []byte(prefix),
		"no end":        text[:len(text)-len(end)],
		"a long end":    append(bytes.Clone(text), end...),
		"a cut text":    text[:len(text)/2],
		"another kind":  bytes.Replace(text, []byte("ConfigMap"), []byte("PodPodPod"), 1),
		"a Secret":      encoded(t, codecOf(t, scheme, corev1.SchemeGroupVersion.WithKind("Secret")), &corev1.Secret{}),
		"JSON":          []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`),
		"a long object": []byte(prefix + string(made.(*codec).begin[len(prefix):]) + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + end),
	} {
		for at, into := range map[string]runtime.Object{"nil": nil, "a ConfigMap": &corev1.ConfigMap{}, "a Secret": &corev1.Secret{}} {
			compare(t, name+" into "+at, made, plain, text, into)
		}
	}
	if newCodec(plain, scheme, corev1.SchemeGroupVersion.WithKind("Unknown")) != plain {
		t.Error("a kind that the scheme does not know has a quick form")
	}
}

// FuzzDecode decodes texts with both forms.
func FuzzDecode(f *testing.F) {
	scheme := native.NewScheme()
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	plain := codecOf(f, scheme, kind)
	quick := newCodec(plain, scheme, kind)
	f.Add(encoded(f, plain, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"a": "b"}}))
	f.Fuzz(func(t *testing.T, text []byte) {
		compare(t, "nil", quick, plain, text, nil)
		compare(t, "a ConfigMap", quick, plain, text, &corev1.ConfigMap{Data: map[string]string{"c": "d"}})
	})
}

// compare decodes a text with both forms.
func compare(t *testing.T, name string, quick, plain runtime.Codec, text []byte, into runtime.Object) {
	t.Helper()
	other := into
	if into != nil {
		other = into.DeepCopyObject()
	}
	before := bytes.Clone(text)
	got, gotKind, err := quick.Decode(text, nil, into)
	want, wantKind, wantErr := plain.Decode(bytes.Clone(text), nil, other)
	if (err == nil) != (wantErr == nil) || (err != nil && err.Error() != wantErr.Error()) {
		t.Fatalf("%s: error %v, want %v", name, err, wantErr)
	}
	if !reflect.DeepEqual(gotKind, wantKind) {
		t.Errorf("%s: kind %v, want %v", name, gotKind, wantKind)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %#v, want %#v", name, got, want)
	}
	if err == nil && into != nil && got != into {
		t.Errorf("%s: the decoded object is another one", name)
	}
	if !bytes.Equal(text, before) {
		t.Errorf("%s: the text has changed", name)
	}
	// A decoded object has no part of the text.
	for i := range text {
		text[i] ^= 0xff
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%s: the object has parts of the text", name)
	}
	copy(text, before)
}

func encoded(t testing.TB, c runtime.Codec, obj runtime.Object) []byte {
	t.Helper()
	text, err := runtime.Encode(c, obj)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newFiller(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).RandSource(rand.NewSource(seed)).NilChance(.4).NumElements(1, 3).MaxDepth(10).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(5), resource.DecimalSI)
		},
		func(at *metav1.Time, c randfill.Continue) { at.Time = time.Unix(c.Int63n(3), 0) },
		func(at *metav1.MicroTime, c randfill.Continue) { at.Time = time.Unix(c.Int63n(3), 0) },
		func(fields *metav1.FieldsV1, _ randfill.Continue) { fields.SetRawBytes([]byte(`{"f:data":{}}`)) },
		func(raw *runtime.RawExtension, _ randfill.Continue) { *raw = runtime.RawExtension{Raw: []byte(`{}`)} },
	)
}

// BenchmarkCodec encodes a ConfigMap of 3 KB and decodes it.
func BenchmarkCodec(b *testing.B) {
	scheme, kind := native.NewScheme(), corev1.SchemeGroupVersion.WithKind("ConfigMap")
	obj := &corev1.ConfigMap{Data: map[string]string{"a": string(bytes.Repeat([]byte("a"), 3000))}}
	plain := codecOf(b, scheme, kind)
	for name, c := range map[string]runtime.Codec{"quick": newCodec(plain, scheme, kind), "plain": plain} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				text := encoded(b, c, obj)
				if _, _, err := c.Decode(text, nil, &corev1.ConfigMap{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
