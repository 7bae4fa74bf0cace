package text_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"

	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// FuzzJSON checks that Decode and DecodeStrict return what the libraries return, and that Encode
// writes the same bytes as encoding/json.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":null,"b":[],"c":{},"d":[1,-2,3.5,1e3,1e300,0.0000001,-0.0,9007199254740993,18446744073709551616]}`,
		`{"z":"plain","a":"<b> & \"c\" \\ \u0001 \u2028 \ud800 é 日","é\n":true,"":false}`, `{"a":1,"a":2}`, `{"a":{"b":[{"c":"d"},[[]]]}}`,
		"{\"a\":\"\xff\x7f\"}", `[1]`, `nul`, `{"a":1e400}`, ` { "a" : [ 1 , { } , [ ] ] , "b" : -0 } `, `{"a":01}`, `{"a":1.}`, `{"a":-}`,
		`{"a":1,}`, `{"a":[1,]}`, `{"a" 1}`, `{"a":tru}`, `{"a":"b}`, `{"a":1}x`, `{"\u0061":1,"a":2}`, "{\"a\":\"\n\"}", `null`, `{`, ``,
		strings.Repeat(`{"a":`, 300) + `1` + strings.Repeat(`}`, 300),
	} {
		f.Add([]byte(seed))
	}
	var format text.JSON
	f.Fuzz(func(t *testing.T, data []byte) {
		obj, err := format.Decode(data)
		var library map[string]any
		if diff := cmp.Diff(asText(utiljson.Unmarshal(data, &library)), asText(err)); diff != "" {
			t.Fatalf("-library +got:\n%s", diff)
		}
		if diff := cmp.Diff(library, obj); diff != "" {
			t.Fatalf("-library +got:\n%s", diff)
		}
		strict, duplicates, strictErr := format.DecodeStrict(data)
		libraryStrict := map[string]any{}
		libraryDuplicates, libraryErr := kjson.UnmarshalStrict(data, &libraryStrict)
		if diff := cmp.Diff(asText(append(libraryDuplicates, libraryErr)...), asText(append(duplicates, strictErr)...)); diff != "" {
			t.Fatalf("strictly, -library +got:\n%s", diff)
		}
		if err != nil {
			return
		}
		if diff := cmp.Diff(libraryStrict, strict); diff != "" {
			t.Fatalf("strictly, -library +got:\n%s", diff)
		}
		var got, want bytes.Buffer
		if err := format.Encode(&got, obj); err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(&want).Encode(obj); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Fatalf("-encoding/json +got:\n%s", diff)
		}
	})
}

func asText(errs ...error) string { return fmt.Sprint(errs) }

func TestEncodeErrors(t *testing.T) {
	var format text.JSON
	for name, value := range map[string]any{
		"not a number": math.NaN(),
		"infinity":     []any{math.Inf(1)},
		"a channel":    map[string]any{"a": make(chan int)},
	} {
		t.Run(name, func(t *testing.T) {
			if err := format.Encode(&bytes.Buffer{}, map[string]any{"a": value}); err == nil {
				t.Error("no error")
			}
			// The next call is not affected.
			var got bytes.Buffer
			if err := format.Encode(&got, map[string]any{"b": int64(1)}); err != nil || got.String() != "{\"b\":1}\n" {
				t.Errorf("%q, %v", got.String(), err)
			}
		})
	}
}

// TestFind checks for which values of an object Decode asks, and that it takes them.
func TestFind(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text  string
		asked []string
		want  string
	}{
		"managed fields": {
			`{"metadata": {"name": "a", "managedFields": [{"fieldsV1": {"f:a": {}}, "manager": "m"}, {"fieldsV1": {"f:{\"\\": {}}}]}}`,
			[]string{`{"f:a": {}}`, `{"f:{\"\\": {}}`},
			`map[metadata:map[managedFields:[map[fieldsV1:map[found:{"f:a": {}}] manager:m] map[fieldsV1:map[found:{"f:{\"\\": {}}]]] name:a]]`,
		},
		"no object":        {`{"metadata":{"managedFields":[{"fieldsV1":null}]}}`, nil, `map[metadata:map[managedFields:[map[fieldsV1:<nil>]]]]`},
		"without an end":   {`{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{}`, nil, `map[]`},
		"other metadata":   {`{"metadata":{"others":[{"fieldsV1":{}}]}}`, nil, `map[metadata:map[others:[map[fieldsV1:map[]]]]]`},
		"another field":    {`{"spec":{"managedFields":[{"fieldsV1":{}}]}}`, nil, `map[spec:map[managedFields:[map[fieldsV1:map[]]]]]`},
		"after metadata":   {`{"metadata":{"managedFields":[]},"spec":[[{"fieldsV1":{}}]]}`, nil, `map[metadata:map[managedFields:[]] spec:[[map[fieldsV1:map[]]]]]`},
		"below the fields": {`{"metadata":{"managedFields":[[{"a":{"fieldsV1":{}}}]]}}`, nil, `map[metadata:map[managedFields:[[map[a:map[fieldsV1:map[]]]]]]]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			format := text.JSON{Known: finder(func(text []byte) map[string]any {
				asked = append(asked, string(text))
				return map[string]any{"found": string(text)}
			})}
			got, _ := format.Decode([]byte(test.text))
			if diff := cmp.Diff(test.asked, asked); diff != "" {
				t.Errorf("asked for, -want +got:\n%s", diff)
			}
			if text := fmt.Sprint(got); text != test.want {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
		})
	}
}

// finder finds sets of fields, and knows no texts.
type finder func([]byte) map[string]any

func (finder) TextOf(map[string]any) []byte      { return nil }
func (f finder) Find(text []byte) map[string]any { return f(text) }

func TestDecodeStrict(t *testing.T) {
	var format text.JSON
	_, duplicates, err := format.DecodeStrict([]byte(`{"a":{"b":1,"b":2}}`))
	if err != nil || len(duplicates) != 1 || !strings.Contains(duplicates[0].Error(), `duplicate field "a.b"`) {
		t.Errorf("%v, %v", duplicates, err)
	}
}

// BenchmarkDecode compares Decode with the library.
func BenchmarkDecode(b *testing.B) {
	const item = `{"name":"LOG_LEVEL","value":"info","port":8080,"on":true,"labels":{"tier":"data","app":"fleet"}},`
	data := []byte(`{"items":[` + strings.Repeat(item, 60) + `null]}`)
	var format text.JSON
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := format.Decode(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var obj map[string]any
			if err := utiljson.Unmarshal(data, &obj); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkEncode compares Encode with the library.
func BenchmarkEncode(b *testing.B) {
	const item = `{"name":"LOG_LEVEL","value":"info","port":8080,"on":true,"labels":{"tier":"data","app":"fleet"}},`
	obj, err := text.Library{}.Decode([]byte(`{"items":[` + strings.Repeat(item, 60) + `null]}`))
	if err != nil {
		b.Fatal(err)
	}
	for name, format := range map[string]text.Format{"ours": &text.JSON{}, "library": text.Library{}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var w bytes.Buffer
			for b.Loop() {
				w.Reset()
				if err := format.Encode(&w, obj); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
