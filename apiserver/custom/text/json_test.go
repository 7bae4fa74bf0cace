package text_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/apiserver/custom/text"
)

// FuzzJSON checks that Decode and DecodeStrict agree, and that Encode writes the same
// bytes as encoding/json.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":null,"b":[],"c":{},"d":[1,-2,3.5,1e3,1e300,0.0000001,-0.0,9007199254740993,18446744073709551616]}`,
		`{"z":"plain","a":"<b> & \"c\" \\ \u0001 \u2028 \ud800 é 日","é\n":true,"":false}`, `{"a":1,"a":2}`, `{"a":{"b":[{"c":"d"},[[]]]}}`,
		"{\"a\":\"\xff\x7f\"}", `[1]`, `nul`, `{"a":1e400}`,
	} {
		f.Add([]byte(seed))
	}
	var format text.JSON
	f.Fuzz(func(t *testing.T, data []byte) {
		obj, err := format.Decode(data)
		again, _, strictErr := format.DecodeStrict(data)
		if (err == nil) != (strictErr == nil) {
			t.Fatalf("%v, strictly %v", err, strictErr)
		}
		if err != nil {
			return
		}
		if obj != nil {
			if diff := cmp.Diff(obj, again); diff != "" {
				t.Fatalf("-decoded +strictly:\n%s", diff)
			}
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

func TestDecodeStrict(t *testing.T) {
	var format text.JSON
	_, duplicates, err := format.DecodeStrict([]byte(`{"a":{"b":1,"b":2}}`))
	if err != nil || len(duplicates) != 1 || !strings.Contains(duplicates[0].Error(), `duplicate field "a.b"`) {
		t.Errorf("%v, %v", duplicates, err)
	}
}

func BenchmarkEncode(b *testing.B) {
	var format text.JSON
	const item = `{"name":"LOG_LEVEL","value":"info","port":8080,"on":true,"labels":{"tier":"data","app":"fleet"}},`
	obj, err := format.Decode([]byte(`{"items":[` + strings.Repeat(item, 60) + `null]}`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var w bytes.Buffer
	for b.Loop() {
		w.Reset()
		if err := format.Encode(&w, obj); err != nil {
			b.Fatal(err)
		}
	}
}
