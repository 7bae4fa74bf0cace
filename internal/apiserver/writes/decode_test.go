package writes

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestRegular says which texts are regular.
func TestRegular(t *testing.T) {
	long := strings.Repeat("a", longestKey+1)
	tests := map[string]struct {
		text string
		want bool
	}{
		"an object":            {`{"a":{"b":[1,-2,true,false,null,"c"]}}`, true},
		"with spaces":          {`{"a": 1, "b": [1, 2]}`, true},
		"a line break behind":  {`{"a":1}` + "\n", true},
		"an empty object":      {`{}`, true},
		"escape sequences":     {`{"a":"\"\\\b\f\n\r\t\u003c\u0026"}`, true},
		"a long value":         {`{"a":"` + long + `"}`, true},
		"a long number":        {`{"a":999999999999999}`, true},
		"nothing":              {``, false},
		"a list":               {`[]`, false},
		"YAML":                 {`a: 1`, false},
		"YAML in an object":    {`{a: 1}`, false},
		"a line break":         {"{\"a\":\n1}", false},
		"a tab":                {"{\"a\":\t1}", false},
		"a space at a colon":   {`{"a" :1}`, false},
		"two documents":        {"{\"a\":1}\n---\n{}", false},
		"a longer number":      {`{"a":9999999999999999}`, false},
		"a fraction":           {`{"a":1.5}`, false},
		"an exponent":          {`{"a":1e3}`, false},
		"minus zero":           {`{"a":-0}`, false},
		"a leading zero":       {`{"a":01}`, false},
		"an escaped slash":     {`{"a":"\/"}`, false},
		"a surrogate":          {`{"a":"\ud83d\ude00"}`, false},
		"a control character":  {`{"a":"\u0001"}`, false},
		"not ASCII":            {`{"a":"é"}`, false},
		"a long key":           {`{"` + long + `":1}`, false},
		"a merge key":          {`{"<<":{"a":1}}`, false},
		"a duplicate key":      {`{"a":1,"a":2}`, false},
		"a duplicate key deep": {`{"a":[{"b":1,"b":2}]}`, false},
		"a broken object":      {`{"a":1`, false},
		"a broken string":      {`{"a`, false},
		"a broken escape":      {`{"a":"\`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, ok := Decode([]byte(test.text)); ok != test.want {
				t.Errorf("%s is regular: %t, want %t", test.text, ok, test.want)
			}
			compare(t, []byte(test.text))
		})
	}
}

// TestDecode decodes the texts that encoding/json writes, and fails if too few of them are regular.
func TestDecode(t *testing.T) {
	regular := 0
	for n := range 200 {
		text, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprint("c", n), "labels": map[string]any{"a<b": "c>&d"}},
			"data":  map[string]any{"settings": "a: \"b\"\n\tc\\d: 'e'\r\n# f", fmt.Sprint(n): fmt.Sprint(n), "true": "yes", "~": "null"},
			"items": []any{n, -n, n%2 == 0, nil, []any{}, map[string]any{}, "2026-01-01", "0x1", "1e3"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if compare(t, text) {
			regular++
		}
	}
	if regular < 200 {
		t.Errorf("%d of 200 texts are regular", regular)
	}
}

// TestMutations decodes texts with random changes.
func TestMutations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	pieces := strings.Split(`{ } [ ] , : " \ \n \u003c \u0060 \" - 0 1 9 . e E + true false null ~ yes no # & * ! | > % @ ' ? << = "" "a" "a": : - {} [] [[ ]] --- ...`, " ")
	pieces = append(pieces, " ", "  ", "\t", "\n", "\r", "\x00", "é")
	regular := 0
	for range 20_000 {
		text := `{"a":{"b":[1,-2,true,false,null,"c d"],"e":"f\n\"g"},"h": 10}`
		for range 1 + random.IntN(3) {
			at := random.IntN(len(text) + 1)
			text = text[:at] + pieces[random.IntN(len(pieces))] + text[min(at+random.IntN(3), len(text)):]
		}
		if compare(t, []byte(text)) {
			regular++
		}
	}
	if regular < 500 {
		t.Errorf("%d texts are regular", regular)
	}
}

// FuzzDecode compares the values of regular texts with those of the YAML decoder.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{"a":{"b":[1,-2,true,false,null,"c"]}}`, `{"a": "\"\\\/\b\f\n\r\t\u003c"}`, `{"nul":tru}`, `{"a":"b"]`, `{"a":1,"a":2}`, `{"a":nullnull}`, `{"a":- 1}`, `{"":""}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { compare(t, text) })
}

// compare decodes a text with both decoders, and reports whether it is regular.
func compare(t *testing.T, text []byte) bool {
	t.Helper()
	got, ok := Decode(text)
	if !ok {
		return false
	}
	want := map[string]any{}
	if err := yaml.Unmarshal(text, &want); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q is decoded as %v, want %v", text, got, want)
	}
	if err := yaml.UnmarshalStrict(text, &map[string]any{}); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return true
}
