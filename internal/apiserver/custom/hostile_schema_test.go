package custom_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// joined returns n texts with commas between them.
func joined(n int, text func(i int) string) string {
	texts := make([]string, n)
	for i := range n {
		texts[i] = text(i)
	}
	return strings.Join(texts, ",")
}

// nested returns a schema with n levels of properties.
func nested(n int) string {
	return strings.Repeat(`{"type":"object","properties":{"a":`, n) + `{"type":"string"}` + strings.Repeat(`}}`, n)
}

// withA returns the schema of an object with one property a.
func withA(property string) string { return `{"type":"object","properties":{"a":` + property + `}}` }

// TestHostileSchemas creates definitions with schemas that are made to cost time or memory. The server refuses those that would take
// minutes or gigabytes, says why, and answers other requests meanwhile.
func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	const large = "x{1000}"
	for name, test := range map[string]struct {
		schema string
		want   string
		// object is the property a of an object, if the definition is accepted, and refused what the server says about it.
		object, refused string
	}{
		"too deep": {schema: nested(1000), want: "400 the body is nested deeper than 128 levels"},
		"deep":     {schema: nested(40), want: "201", object: `"x"`, refused: "spec.a: must be of type object, not string"},
		"wide": {
			schema: `{"type":"object","properties":{` + joined(5000, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}`,
			want:   "201", object: `"x"`, refused: `unknown field "spec.a"`,
		},
		"backtracking": {
			schema: withA(`{"type":"string","pattern":"^(a+)+$"}`), want: "201",
			object: `"` + strings.Repeat("a", 10_000) + `!"`, refused: "should match '^(a+)+$'",
		},
		"expression": {
			schema: withA(`{"type":"string","pattern":"` + strings.Repeat(large, 1000) + `"}`),
			want:   "properties[a]: Forbidden: has a regular expression of 1000000 steps, and at most 20000 are allowed",
		},
		"nested repetitions": {
			schema: withA(`{"type":"string","pattern":"` + strings.Repeat("(?:(?:[a-z]{10}){10}){10}", 300) + `"}`),
			want:   "has a regular expression of",
		},
		"expressions": {
			schema: `{"type":"object","properties":{` + joined(50, func(i int) string {
				return fmt.Sprintf(`"p%d":{"type":"string","pattern":"%s"}`, i, strings.Repeat(large, 10))
			}) + `}}`,
			want: "the regular expressions of the schemas have 500000 steps, and at most 100000 are allowed",
		},
		"expression in a name": {
			schema: `{"type":"object","patternProperties":{"` + strings.Repeat(large, 100) + `":{"type":"string"}}}`,
			want:   "has a regular expression of 100000 steps",
		},
		"expression in logic": {
			schema: withA(`{"type":"string","anyOf":[{"not":{"pattern":"` + strings.Repeat(large, 100) + `"}}]}`),
			want:   "has a regular expression of 100000 steps",
		},
		"expression in a rule": {
			schema: withA(`{"type":"string","maxLength":9,"x-kubernetes-validations":[{"rule":"self == 'a' || self.matches('` +
				strings.Repeat(large, 1000) + `')"}]}`),
			want: "has a regular expression of 1000000 steps",
		},
		"cost of a rule": {
			schema: withA(`{"type":"array","items":{"type":"array","items":{"type":"string"},` +
				`"x-kubernetes-validations":[{"rule":"self.all(x, self.all(y, x == y))"}]}}`),
			want: "estimated rule cost",
		},
		"cost of an evaluation": {
			// With ten items more, the estimate exceeds the limit.
			schema: withA(`{"type":"array","maxItems":990,"items":{"type":"string","maxLength":10},` +
				`"x-kubernetes-validations":[{"rule":"self.all(x, self.exists(y, x < y) || true)"}]}`),
			want: "201", object: "[" + joined(990, func(i int) string { return fmt.Sprintf(`"%d"`, 1000-i) }) + "]", refused: "201",
		},
		"branches": {
			schema: `{"type":"object","allOf":[` + joined(2000, func(i int) string {
				return fmt.Sprintf(`{"properties":{"a":{"maxLength":%d}}}`, i+5)
			}) + `],"properties":{"a":{"type":"string"}}}`,
			want: "201", object: `"` + strings.Repeat("a", 100) + `"`, refused: "Too long",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := strings.ReplaceAll(name, " ", "-") + ".hostile.example.com"
			got, err := shared.do("POST", definitions, thing(group, test.schema))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.text(), test.want) {
				t.Errorf("got %.500s, want %s", got.text(), test.want)
			}
			// Another request is answered.
			shared.must(t, http.StatusOK, "GET", "/api/v1/namespaces/default", "")
			if got.code != http.StatusCreated {
				return
			}
			t.Cleanup(func() { remove(t, definitions+"/things."+group) })
			object := `{"apiVersion":"` + group + `/v1","kind":"Thing","metadata":{"name":"x"},"spec":{"a":` + test.object + `}}`
			if got, err = shared.do("POST", "/apis/"+group+"/v1/namespaces/default/things", object); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.text(), test.refused) {
				t.Errorf("object: got %.500s, want %s", got.text(), test.refused)
			}
		})
	}
}

// TestHostileBranches writes objects whose validation compares each of many items with each of many branches. Other requests are
// answered meanwhile.
func TestHostileBranches(t *testing.T) {
	t.Parallel()
	const group = "items.hostile.example.com"
	define(t, group, withA(`{"type":"array","items":{"type":"string","anyOf":[`+
		joined(1000, func(i int) string { return fmt.Sprintf(`{"pattern":"^%d$"}`, i) })+`]}}`))
	object := `{"apiVersion":"` + group + `/v1","kind":"Thing","metadata":{"name":"x"},"spec":{"a":[` +
		joined(500, func(int) string { return `"x"` }) + `]}}`
	ended := make(chan error, 4)
	for range cap(ended) {
		go func() {
			got, err := shared.do("POST", "/apis/"+group+"/v1/namespaces/default/things", object)
			if err == nil && got.code != http.StatusUnprocessableEntity && got.code != http.StatusGatewayTimeout {
				err = fmt.Errorf("got %.300s", got.text())
			}
			ended <- err
		}()
	}
	for range cap(ended) {
		shared.must(t, http.StatusOK, "GET", "/api/v1/namespaces/default", "")
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
