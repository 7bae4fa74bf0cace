package nesting_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/nesting"
	"holdfast.dev/holdfast/internal/yamltest"
)

// lists returns a list with the given number of levels.
func lists(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// objects returns an object with the given number of levels.
func objects(levels int) string {
	return strings.Repeat(`{"f:a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

const limit = nesting.Limit

func TestText(t *testing.T) {
	managed := func(levels int) string {
		return `{"kind":"metadata","metadata":{"name":"managedFields","managedFields":[{"fieldsV1":` + objects(levels) + `}]}}`
	}
	tests := map[string]struct {
		check   func([]byte) error
		text    string
		tooDeep bool
	}{
		"JSON list":                {nesting.JSON, lists(limit), false},
		"deeper JSON list":         {nesting.JSON, lists(limit + 1), true},
		"JSON object":              {nesting.JSON, objects(limit), false},
		"deeper JSON object":       {nesting.JSON, objects(limit + 1), true},
		"many shallow values":      {nesting.JSON, "[" + strings.Repeat("[[]],", 1000) + "[]]", false},
		"brackets in a string":     {nesting.JSON, `["` + strings.Repeat("[", limit) + `"]`, false},
		"a quote in a string":      {nesting.JSON, `{"a\"":"\\","b":` + lists(limit) + `}`, true},
		"a bracket after a string": {nesting.JSON, strings.Repeat(`["]",`, limit) + lists(1), true},
		"malformed":                {nesting.JSON, `}}}]{"a`, false},

		"managed fields":                     {nesting.JSON, managed(limit + 1), false},
		"deeper managed fields":              {nesting.JSON, managed(limit + 2), true},
		"managed fields elsewhere":           {nesting.JSON, `{"spec":` + managed(limit) + `}`, true},
		"a field beside the managed fields":  {nesting.JSON, `{"metadata":{"managedFields":[],"x":` + lists(limit-1) + `}}`, true},
		"a field with a similar name":        {nesting.JSON, `{"metadata":{"managedFieldsX":` + lists(limit-1) + `}}`, true},
		"a field that follows":               {nesting.JSON, `{"metadata":{"managedFields":[]},"spec":` + lists(limit) + `}`, true},
		"a string equal to the name of both": {nesting.JSON, `{"a":"metadata","b":{"managedFields":` + lists(limit-1) + `}}`, true},

		"YAML that is JSON":   {nesting.YAML, objects(limit + 1), true},
		"flow style":          {nesting.YAML, "a: " + strings.Repeat("{b: ", limit) + strings.Repeat("}", limit), true},
		"quotes of YAML":      {nesting.YAML, `{a: '"', b: ` + lists(limit) + `}`, true},
		"block style":         {nesting.YAML, "a:\n" + strings.Repeat("- ", limit) + "b", true},
		"shallow block style": {nesting.YAML, "a:\n" + strings.Repeat("- ", limit-1) + "b", false},
		"aliases": {nesting.YAML, "a: &a " + lists(limit/2) + "\nb: &b " +
			strings.Repeat("[", limit/2) + "*a" + strings.Repeat("]", limit/2) + "\n", true},
		"malformed YAML": {nesting.YAML, "a: [", false},

		"JSON patch":                  {nesting.Patch, `[{"op":"add","path":"/a","value":` + lists(limit-1) + `}]`, false},
		"deeper JSON patch":           {nesting.Patch, `[{"op":"add","path":"/a","value":` + lists(limit) + `}]`, true},
		"path":                        {nesting.Patch, `[{"op":"remove","path":"` + strings.Repeat("/a", limit) + `"}]`, true},
		"many copies of equal depth":  {nesting.Patch, "[" + strings.Repeat(`{"op":"copy","from":"/a/b","path":"/c/d"},`, 999) + "{}]", false},
		"many copies into each other": {nesting.Patch, "[" + strings.Repeat(`{"op":"copy","from":"","path":"/a"},`, limit+1) + "{}]", true},
		"many moves into each other":  {nesting.Patch, "[" + strings.Repeat(`{"op":"move","from":"/a","path":"/b/a"},`, limit+1) + "{}]", true},
		"no patch":                    {nesting.Patch, `{"op":1}`, false},
		"operations of another type":  {nesting.Patch, `[{"op":1,"path":{},"from":[]}]`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.check([]byte(test.text))
			if test.tooDeep != errors.As(err, new(nesting.Error)) || err != nil && !test.tooDeep {
				t.Errorf("got error %v, want one: %t", err, test.tooDeep)
			}
		})
	}
}

func TestErrorNamesTheLimit(t *testing.T) {
	want := fmt.Sprintf("the JSON is nested deeper than %d levels, which is the limit", limit)
	if err := nesting.JSON([]byte(lists(limit + 1))); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestObject(t *testing.T) {
	for text, tooDeep := range map[string]bool{
		objects(limit):                 false,
		objects(limit + 1):             true,
		`{"a":` + lists(limit-1) + `}`: false,
		`{"a":` + lists(limit) + `}`:   true,
		`{"metadata":{"managedFields":[{"fieldsV1":` + objects(limit+1) + `}]}}`: false,
		`{"metadata":{"managedFields":[{"fieldsV1":` + objects(limit+2) + `}]}}`: true,
		`{"metadata":{"labels":` + objects(limit-1) + `}}`:                       true,
	} {
		obj := yamltest.Map(t, text)
		if err := nesting.Object(obj); (err != nil) != tooDeep {
			t.Errorf("%s: got %v, want an error: %t", text, err, tooDeep)
		}
		// The text and the object have the same bound.
		if err := nesting.JSON([]byte(text)); (err != nil) != tooDeep {
			t.Errorf("%s as text: got %v, want an error: %t", text, err, tooDeep)
		}
	}
}

// FuzzJSON compares the scanner with a decoder, and checks that it finds the same in parts of
// the text as in the whole.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a\"[":["\\",{"b":[[]]}]}`, `{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{}}}]}}`, "[[[", `"\u005b"`, objects(limit + 1),
	} {
		f.Add([]byte(text), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		whole := nesting.JSON(text)
		if at >= 0 && at <= len(text) {
			var s nesting.Scanner
			if within := s.Scan(text[:at]) && s.Scan(text[at:]); within != (whole == nil) {
				t.Errorf("in two parts: %t, whole: %v", within, whole)
			}
		}
		var obj map[string]any
		if !json.Valid(text) || json.Unmarshal(text, &obj) != nil || obj == nil {
			return
		}
		// Of two equal keys, the decoder drops the first.
		if again, err := json.Marshal(obj); err == nil && nesting.TextLevels(again) == nesting.TextLevels(text) {
			if got, want := nesting.JSON(again) != nil, nesting.Object(obj) != nil; got != want {
				t.Errorf("%s: text too deep: %t, object too deep: %t", again, got, want)
			}
		}
	})
}

// FuzzPatch checks that no JSON patch stops the check.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(`[{"op":"copy","from":"/a","path":"/b/c"},{"op":"add","path":"/a","value":[[]]}]`))
	f.Fuzz(func(_ *testing.T, text []byte) { _ = nesting.Patch(text) })
}

// FuzzYAML checks that YAML which is JSON has the bound of JSON.
func FuzzYAML(f *testing.F) {
	f.Add([]byte("a: &a [b]\nc: [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := nesting.YAML(text); json.Valid(text) && (err != nil) != (nesting.JSON(text) != nil) {
			t.Errorf("%s: %v", text, err)
		}
	})
}

// BenchmarkJSON measures the scan of an object with 100 KB, for each KB.
func BenchmarkJSON(b *testing.B) {
	item := `{"name":"main","image":"registry.example.com/app:v1.2.3","env":[{"name":"MODE","value":"production"}],"ready":true},`
	text := []byte(`{"spec":{"items":[` + strings.Repeat(item, 102400/len(item)) + `{}]}}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := nesting.JSON(text); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text))*1024, "ns/KB")
}
