package parameters_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/parameters"
)

func TestTypes(t *testing.T) {
	tests := map[parameters.Type]struct{ good, bad []string }{
		"":                 {good: []string{"", "x", "{"}},
		parameters.String:  {good: []string{"", "x", "{"}},
		parameters.Integer: {good: []string{"", "0", "-3", "9223372036854775807"}, bad: []string{"1.5", "x", "9223372036854775808", " 1"}},
		parameters.Number:  {good: []string{"", "0", "-3.5", "1e9"}, bad: []string{"x", "NaN", "Inf", "1,5"}},
		parameters.Boolean: {good: []string{"", "true", "false", "0"}, bad: []string{"yes", "x"}},
		parameters.Array:   {good: []string{"", "[]", "[a]", "- a\n- b", "null"}, bad: []string{"a", "{a: b}", "["}},
		parameters.Map:     {good: []string{"", "{}", "a: b", "null"}, bad: []string{"a", "[a]", "{"}},
	}
	for typ, test := range tests {
		t.Run(string(typ), func(t *testing.T) {
			d := parameters.Definition{Name: "X", Type: typ}
			for _, text := range test.good {
				if problem := d.Problem(text); problem != "" {
					t.Errorf("%q: %s", text, problem)
				}
			}
			for _, text := range test.bad {
				if d.Problem(text) == "" {
					t.Errorf("%q passes for %s", text, typ)
				}
			}
		})
	}
}

func TestEnumOfArrays(t *testing.T) {
	d := parameters.Definition{Name: "X", Type: parameters.Array, Enum: []string{"[a, b]"}}
	if problem := d.Problem("- a\n- b\n"); problem != "" {
		t.Error(problem)
	}
	if got := d.Problem("[b, a]"); got != "parameter 'X' has the value '[b, a]', allowed are '[a, b]'" {
		t.Error(got)
	}
}

func TestEffective(t *testing.T) {
	v := version(t, `{version: 0.1.0, params: [{name: A, default: x}, {name: B, type: integer, default: "3"},
		{name: C, type: array, default: "[1, a]"},
		{name: D, type: map}, {name: E, required: false}, {name: F, type: map, default: "a: 1.5"},
		{name: G, type: array}, {name: H, type: array, default: "[]"}, {name: I, type: array, default: ""}]}`)
	want := map[string]any{
		"A": "y", "B": "3", "C": []any{int64(1), "a"}, "D": nil, "E": "", "F": map[string]any{"a": 1.5},
		"G": []any(nil), "H": []any{}, "I": []any(nil),
	}
	if diff := cmp.Diff(want, v.Effective(values{"A": "y", "GONE": "z"})); diff != "" {
		t.Errorf("effective (-want +got):\n%s", diff)
	}
}

func TestLongValuesAreCut(t *testing.T) {
	v := version(t, `{version: 0.1.0, params: [{name: A, default: x, immutable: true}]}`)
	err := parameters.Update(v, parameters.Request{Wanted: values{"A": strings.Repeat("é", 4000)}}).Err()
	if err == nil || len(err.Error()) > 400 || !strings.HasSuffix(err.Error(), "é…'") {
		t.Errorf("got %v", err)
	}
}

func TestCompare(t *testing.T) {
	ordered := []string{"0.1.0-alpha", "0.1.0-rc1", "0.1", "0.2.0", "0.10.0", "1", "1.0.1+build"}
	for i, a := range ordered {
		for j, b := range ordered {
			got, err := parameters.Compare(a, b)
			if err != nil {
				t.Fatal(err)
			}
			if want := min(max(i-j, -1), 1); got != want {
				t.Errorf("Compare(%s, %s) = %d, want %d", a, b, got, want)
			}
		}
	}
	for _, wrong := range []string{"", "x", "1.2.3.4", "-1", "1..2"} {
		if _, err := parameters.Compare(wrong, "1.0.0"); err == nil {
			t.Errorf("%q passes for a version", wrong)
		}
	}
}
