package stored

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"holdfast.dev/holdfast/internal/apiserver/custom/definitiontest"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/v1beta1"
)

// forms returns the library and the quick form.
func forms(t testing.TB) (library, quick runtime.Decoder) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{definition.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	library = serializer.NewCodecFactory(scheme).UniversalDeserializer()
	return library, decoder{library}
}

// random returns the text of a definition as the server stores it, or one that differs from such a text.
func random(t testing.TB, r *rand.Rand) []byte {
	t.Helper()
	crd := definitiontest.Random(r, r.IntN(100))
	crd.APIVersion, crd.Kind = definition.GroupName+"/v1", "CustomResourceDefinition"
	if r.IntN(20) == 0 {
		crd.APIVersion = definition.GroupName + "/v1beta1"
	}
	crd.Annotations = map[string]string{"a": `{"spec":{"versions":[{"schema":{"openAPIV3Schema":{}}}]}}`}
	definition.SetCondition(crd, apiextensionsv1.CustomResourceDefinitionCondition{Type: "Established"}, metav1.Now())
	text, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	if r.IntN(8) == 0 {
		var indented bytes.Buffer
		if err := json.Indent(&indented, text, "", " "); err != nil {
			t.Fatal(err)
		}
		text = indented.Bytes()
	}
	swaps := []string{
		`"spec":`, `"versions":`, `"schema":`, `"openAPIV3Schema":`, `"openAPIV3Schema":null,"openAPIV3Schema":`,
		`"spec":{},"spec":`, `"sp\u0065c":`, `"schema":{},"schema":`, `true`, `1e3`, `-0.5`, `01`, `[]`, `{}`, `"\ud800"`, `null`,
	}
	for range r.IntN(3) {
		switch r.IntN(4) {
		case 0:
			text = bytes.Clone(text)
			bytesOfJSON := "{}[]\",:0\\ \x00\xffu-e."
			text[r.IntN(len(text))] = bytesOfJSON[r.IntN(len(bytesOfJSON))]
		case 1:
			text = text[:r.IntN(len(text)+1)]
		default:
			from, to := swaps[r.IntN(len(swaps))], swaps[r.IntN(len(swaps))]
			text = []byte(strings.Replace(string(text), from, to, 1))
		}
		if len(text) == 0 {
			return text
		}
	}
	return text
}

// FuzzDecode checks that both forms decode a text to the same definition, or refuse it with the same error.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(1500) {
		f.Add(seed)
	}
	var mu sync.Mutex
	var all, quickly int
	f.Cleanup(func() {
		if all > 1000 && quickly < all/4 {
			f.Errorf("of %d texts, only %d took the quick way", all, quickly)
		}
	})
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 152))
		text := random(t, r)
		library, quick := forms(t)
		into := func() runtime.Object { return &definition.CustomResourceDefinition{} }
		if r.IntN(4) == 0 {
			into = func() runtime.Object { return nil }
		}
		given := bytes.Clone(text)
		want, wantKind, wantErr := library.Decode(text, nil, into())
		got, gotKind, err := quick.Decode(text, nil, into())
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%s\nerror %v, want %v", text, err, wantErr)
		}
		if err == nil && (!reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotKind, wantKind)) {
			t.Fatalf("%s\ngot  %+v %v\nwant %+v %v", text, got, gotKind, want, wantKind)
		}
		for i := range text { // the result shares no memory with the text
			text[i] = 'x'
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: the definition shares memory with its text", given)
		}
		_, _, ok := decoder{library}.quick(given, nil, into())
		mu.Lock()
		defer mu.Unlock()
		all++
		if ok {
			quickly++
		}
	})
}

// FuzzScanner checks that the scanner accepts no text that encoding/json refuses, and every other one that is not nested too deep.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `""`, `"\u00e9\n"`, `"\u00g0"`, `"\x"`, `"a`, `0`, `-0`, `01`, `-`, `1.`, `1.5e+3`, `1e`, `.5`, `true`, `tru`, `nul`, `[1,]`, `{"a":}`,
		`{"a" : [ 1 , {"b":null} ] }`, "\"\t\"", `{"a":1,}`, `[[[[[]]]]]`, `{a:1}`, "\"\xff\"", `1 2`, ` `,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := scanner{data: text}
		s.space()
		got := s.value(0)
		s.space()
		got = got && s.at == len(text)
		if want := json.Valid(text); got != want && (got || bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) < maxDepth) {
			t.Errorf("%q is valid: %t, want %t", text, got, want)
		}
	})
}

// BenchmarkDecode decodes definitions of 30 to 1,000 fields, as a start does.
func BenchmarkDecode(b *testing.B) {
	var texts [][]byte
	size := 0
	for i := range 10 {
		text, err := json.Marshal(definitiontest.Generated(i))
		if err != nil {
			b.Fatal(err)
		}
		texts = append(texts, text)
		size += len(text)
	}
	library, quick := forms(b)
	for name, form := range map[string]runtime.Decoder{"library": library, "quick": quick} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				for _, text := range texts {
					if _, _, err := form.Decode(text, nil, &definition.CustomResourceDefinition{}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
