package requestbody_test

import (
	"encoding/json"
	"testing"

	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"holdfast.dev/holdfast/internal/apiserver/requestbody"
)

func TestKind(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"ConfigMap","apiVersion":"v1","data":{"a":"}\\\"{","kind":"x"}}`:              "/v1, Kind=ConfigMap",
		`{ "data" : [ "\\" , {"a":"]"} ] , "apiVersion" : "apps/v1" , "kind" : "Deployment" }`: "apps/v1, Kind=Deployment",
		`{"a":1.5e3,"b":null,"apiVersion":"v1","c":true,"kind":"Pod"}`:                         "/v1, Kind=Pod",
		`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"\u00e9"},"x":"ä"}`:                "/v1, Kind=Pod",
		`{"kind":"Pod","apiVersion":"v1","kind":"Node"}`:                                       "",
		`{"kind":"Pod","apiVersion":"v1","Kind":"Node"}`:                                       "",
		`{"kind":"Pod","apiVersion":"v1","\u006bind":"Node"}`:                                  "",
		`{"kind":"Pod","apiVersion":"v1","Kind":"Node"}`:                                       "",
		`{"kind":"P\u006fd","apiVersion":"v1"}`:                                                "",
		`{"kind":"Pod","apiVersion":"a/b/c"}`:                                                  "",
		`{"kind":1,"apiVersion":"v1"}`:                                                         "",
		`{"kind":"Pod"}`:                                                                       "",
		`{"kind":"Pod","apiVersion":"v1"`:                                                      "",
		`[]`:                                                                                   "",
		``:                                                                                     "",
	} {
		gvk, ok := requestbody.Kind([]byte(text))
		if ok != (want != "") || ok && gvk.String() != want {
			t.Errorf("%s: %q, %v, want %q", text, gvk.String(), ok, want)
		}
	}
}

// FuzzKind compares the kind with the one that the library finds.
func FuzzKind(f *testing.F) {
	f.Add([]byte(`{"kind":"Pod","a":{"b":["\"",1]},"apiVersion":"apps/v1"}`))
	f.Add([]byte(`{"kind":"Pod","apiVersion":"v1","KIND":"Node"}`))
	f.Add([]byte(`{"apiVersion":"v1","a":"\\","kind":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := requestbody.Kind(text)
		if !ok || !json.Valid(text) {
			return
		}
		want, err := serializer.DefaultMetaFactory.Interpret(text)
		if err != nil || *want != got {
			t.Errorf("%s: %v, want %v, %v", text, got, want, err)
		}
	})
}

func BenchmarkKind(b *testing.B) {
	data := map[string]string{}
	for _, name := range []string{"one", "two", "three", "four", "five", "six", "seven", "eight"} {
		data[name] = string(make([]byte, 50)) + "listen=0.0.0.0:80\nlevel=info\n" + string(make([]byte, 20))
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, ok := requestbody.Kind(text); !ok {
			b.Fatal("not found")
		}
	}
}
