package schema_test

import (
	stdjson "encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/schema"
)

// FuzzDecode asserts that encoding again gives the same bytes, that no keyword is lost, and
// that upstream's types accept every schema that Decode accepts.
func FuzzDecode(f *testing.F) {
	seed := yamltest.JSON(f, everyKeyword)
	f.Add(seed)
	f.Add([]byte(`{"type":["a"],"required":[true],"items":"x"}`))
	f.Add([]byte(`{"properties":{"a":{"items":[{}],"not":null}},"foo":1,"maximum":1e400}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var in any
		if json.Unmarshal(data, &in) != nil {
			t.Skip()
		}
		s, unknown, err := schema.Decode(in)
		if err != nil {
			return
		}
		once, err := stdjson.Marshal(s)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		if len(unknown) == 0 && !hasNull(in) {
			if want, _ := stdjson.Marshal(in); string(once) != string(want) {
				t.Errorf("lost something:\nwant %s\ngot  %s", want, once)
			}
		}
		again := yamltest.Value(t, once)
		s, unknown, err = schema.Decode(again)
		if err != nil || len(unknown) > 0 {
			t.Fatalf("decode what was encoded: %v, unknown: %v", err, unknown)
		}
		if twice, _ := stdjson.Marshal(s); string(twice) != string(once) {
			t.Errorf("not stable:\nonce  %s\ntwice %s", once, twice)
		}
		if err := stdjson.Unmarshal(once, &apiextensionsv1.JSONSchemaProps{}); err != nil {
			t.Errorf("upstream does not take %s: %v", once, err)
		}
	})
}

func hasNull(x any) bool {
	switch x := x.(type) {
	case nil:
		return true
	case map[string]any:
		for _, v := range x {
			if hasNull(v) {
				return true
			}
		}
	case []any:
		for _, v := range x {
			if hasNull(v) {
				return true
			}
		}
	}
	return false
}

func BenchmarkDecode(b *testing.B) {
	properties := map[string]any{}
	for i := range 10_000 {
		name := string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
		properties[name] = map[string]any{"type": "string", "description": "x"}
	}
	in := map[string]any{"properties": properties}
	for b.Loop() {
		if _, _, err := schema.Decode(in); err != nil {
			b.Fatal(err)
		}
	}
}
