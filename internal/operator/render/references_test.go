package render_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/operator/render"
)

func TestReferencesIn(t *testing.T) {
	t.Parallel()
	all := render.References{All: true}
	names := func(names ...string) render.References { return render.References{Names: names} }
	tests := map[string]struct {
		source string
		want   render.References
	}{
		"none":                     {`{{ .Name }}-{{ .Namespace }}`, names()},
		"fields":                   {`{{ .Params.B }}{{ .Params.A.x.y }}`, names("A", "B")},
		"the data by its variable": {`{{ range .Params.A }}{{ $.Params.B }}{{ end }}`, names("A", "B")},
		"a condition": {
			`{{ if eq .Params.A "x" }}a{{ else if .Params.B }}b{{ else }}{{ .Params.C }}{{ end }}`, names("A", "B", "C"),
		},
		"index and get":     {`{{ index .Params "A" }}{{ get $.Params "B" }}{{ index .Params "C" "x" }}`, names("A", "B", "C")},
		"index of the data": {`{{ index . "Params" "A" }}{{ (index $ "Params").B }}{{ index . "Name" }}`, names("A", "B")},
		"a key in a pipe":   {`{{ "A" | index .Params }}{{ hasKey .Params "B" }}`, names("A", "B")},
		"any key below a parameter": {
			`{{ range $k := .Params.A }}{{ index $.Params.B $k }}{{ index $.Params "C" $k }}{{ end }}`, names("A", "B", "C"),
		},
		"with":                       {`{{ with .Params }}{{ .A }}{{ else }}{{ .Params.B }}{{ end }}`, names("A", "B")},
		"a variable":                 {`{{ $p := .Params }}{{ $all := . }}{{ $p.A }}{{ $all.Params.B }}`, names("A", "B")},
		"a variable in parentheses":  {`{{ ($p := .Params).A }}{{ (.).Params.B }}`, names("A", "B")},
		"items of a parameter":       {`{{ range $i, $e := .Params.A }}{{ . }}{{ toYaml $e }}{{ end }}`, names("A")},
		"a defined template":         {`{{ define "x" }}{{ .Params.A }}{{ $.Params.B }}{{ end }}{{ template "x" . }}`, names("A", "B")},
		"a template of one value":    {`{{ define "x" }}{{ . }}{{ end }}{{ template "x" .Params.A }}`, names("A")},
		"a template of .Params":      {`{{ define "x" }}{{ .A }}{{ end }}{{ template "x" .Params }}`, names("A")},
		"a template of nothing":      {`{{ define "x" }}{{ .Params.A }}{{ end }}{{ template "x" }}`, names("A")},
		"a template of itself":       {`{{ define "x" }}{{ .Params.A }}{{ template "x" . }}{{ end }}{{ template "x" . }}`, names("A")},
		"a block":                    {`{{ block "x" .Params }}{{ .A }}{{ end }}`, names("A")},
		"a template that none calls": {`{{ define "x" }}{{ .Params.A }}{{ end }}`, names("A")},
		"the loop's data":            {`{{ range .Params.A }}{{ .Params.B }}{{ end }}`, names("A", "B")},
		"Params of another value":    {`{{ .Params.A.Params.B }}{{ .Pipes.Params }}`, names("A")},
		"assigned the same":          {`{{ $p := .Params }}{{ if .Name }}{{ $p = $.Params }}{{ end }}{{ $p.A }}`, names("A")},
		"a call with arguments":      {`{{ default "x" .Params.A | quote }}`, names("A")},

		"printed":                {`{{ .Params }}`, all},
		"the data printed":       {`{{ . }}`, all},
		"a loop":                 {`{{ range $k, $v := .Params }}{{ $k }}{{ end }}`, all},
		"a loop over the data":   {`{{ range . }}{{ . }}{{ end }}`, all},
		"a function":             {`{{ toYaml .Params }}`, all},
		"a function in a pipe":   {`{{ $ | toJson }}`, all},
		"a key that is computed": {`{{ index .Params .Name }}`, all},
		"a key of the data":      {`{{ index . (printf "%s" "Params") }}`, all},
		"a list with the data":   {`{{ define "x" }}{{ . }}{{ end }}{{ template "x" (list .) }}`, all},
		"an object with .Params": {`{{ $d := dict "p" .Params }}{{ $d.p.A }}`, all},
		"or":                     {`{{ (or .Params .Pipes).A }}`, all},
		"a changed object": {
			`{{ $_ := set .Params "A" .Params.B }}{{ .Params.A }}`, render.References{Names: []string{"A", "B"}, All: true},
		},
		"a variable with two values": {
			`{{ $p := .Pipes }}{{ range .Params.A }}{{ $p.B }}{{ $p = $.Params }}{{ end }}`,
			render.References{Names: []string{"A"}, All: true},
		},
		"a template that prints":      {`{{ define "x" }}{{ . }}{{ end }}{{ template "x" .Params }}`, all},
		"the data, assigned to $":     {`{{ range .Pipes }}{{ $ = . }}{{ end }}`, all},
		"two templates, one of all":   {`{{ define "x" }}{{ . }}{{ end }}{{ template "x" .Name }}{{ template "x" . }}`, all},
		"an argument of an argument":  {`{{ printf "%v" (list (list $)) }}`, all},
		"with the data, then printed": {`{{ with $x := . }}{{ $x }}{{ end }}`, all},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := render.ReferencesIn("a.yaml", test.source)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("references (-want +got):\n%s", diff)
			}
			checkReferences(t, test.source)
		})
	}
}

// checkReferences changes each parameter that a template does not refer to, and expects the
// same output.
func checkReferences(t *testing.T, source string) {
	t.Helper()
	refs, err := render.ReferencesIn("a.yaml", source)
	if err != nil || refs.All {
		return
	}
	want := output(t, source, example())
	for name, other := range map[string]any{"A": "changed", "B": []any{"x"}, "C": map[string]any{"k": "v"}, "D": ""} {
		if slices.Contains(refs.Names, name) {
			continue
		}
		for _, changed := range []any{other, map[string]any{"Params": "p", "x": "y"}} {
			params := example()
			params[name] = changed
			if got := output(t, source, params); got != want {
				t.Fatalf("%s\nrefers to %v, but parameter %s changes its output:\n%s\n%s", source, refs.Names, name, want, got)
			}
		}
	}
}

func example() map[string]any {
	return map[string]any{
		"A": map[string]any{"x": map[string]any{"y": "z"}, "k": "v"}, "B": []any{"one", "two"}, "C": "text", "D": "B",
	}
}

// output returns the output of a template, or its error.
func output(t *testing.T, source string, params map[string]any) string {
	text, err := render.Template(t.Context(), "a.yaml", source, render.Values{
		Name: "name", Namespace: "namespace", Params: params, Pipes: map[string]string{"A": "pipe"},
	})
	if err != nil {
		return "error: " + err.Error()
	}
	return text
}

// FuzzReferences expects that a parameter outside the references of a template never changes
// its output.
func FuzzReferences(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(generated(seed))
	}
	f.Fuzz(func(t *testing.T, source string) {
		// These functions return another result each time.
		for _, random := range []string{
			"rand", "now", "uuid", "gen", "shuffle", "bcrypt", "htpasswd", "encrypt", "ago", "date", "Date", "keys", "values", "Cert",
		} {
			if strings.Contains(source, random) {
				t.Skip()
			}
		}
		checkReferences(t, source)
	})
}

// TestReferencesOfGeneratedTemplates checks generated templates, which reach the data in every
// way that the language has.
func TestReferencesOfGeneratedTemplates(t *testing.T) {
	t.Parallel()
	decided := 0
	for seed := range uint64(300) {
		source := generated(seed)
		if refs, err := render.ReferencesIn("a.yaml", source); err == nil && !refs.All {
			decided++
		}
		checkReferences(t, source)
	}
	if decided < 30 {
		t.Errorf("only %d templates can be parsed and do not refer to all parameters", decided)
	}
}

// generated returns a random template.
func generated(seed uint64) string {
	g := generator{rand.New(rand.NewPCG(seed, 1))}
	return fmt.Sprintf(`{{ define "x" }}%s{{ end }}{{ define "y" }}%s{{ end }}%s%s`, g.block(1), g.block(1), g.block(3), g.block(2))
}

type generator struct{ *rand.Rand }

// fill replaces each ¹ by an expression, each ² by a block and each ³ by a key.
func (g generator) fill(depth int, forms ...string) string {
	form := forms[g.IntN(len(forms))]
	var text strings.Builder
	for _, char := range form {
		switch char {
		case '¹':
			text.WriteString(g.expression(depth - 1))
		case '²':
			text.WriteString(g.block(depth - 1))
		case '³':
			text.WriteString([]string{"A", "B", "C", "D", "Params", "Name", "Pipes", "x"}[g.IntN(8)])
		default:
			text.WriteRune(char)
		}
	}
	return text.String()
}

func (g generator) expression(depth int) string {
	if depth <= 0 {
		return g.fill(0, `.`, `$`, `.³`, `$.³`, `.Params.³`, `$.Params.³`, `"³"`, `.Name`, `.Params`, `1`, `$.Params.A.³`)
	}
	return g.fill(depth, `.³`, `$.Params.³`, `.Params.³`, `(index ¹ "³")`, `(get ¹ "³")`, `(¹).³`, `(index ¹ ¹)`, `(default ¹ ¹)`,
		`(printf "%v" ¹)`, `(dict "³" ¹)`, `(list ¹ ¹)`, `(¹ | toJson)`, `(or ¹ ¹)`, `(eq ¹ ¹)`, `(hasKey ¹ "³")`, `("³" | index ¹)`,
		`(merge (dict) ¹)`, `(len ¹)`, `(index ¹ "Params" "³")`)
}

func (g generator) block(depth int) string {
	if depth <= 0 {
		return g.fill(1, `{{ ¹ }}`, `text`, `{{ .Params.³ }}`, `{{ . }}`)
	}
	return g.fill(depth, `{{ ¹ }}²`, `{{ if ¹ }}²{{ else }}²{{ end }}`, `{{ with ¹ }}²{{ end }}²`, `{{ with $v := ¹ }}²{{ $v.³ }}{{ end }}`,
		`{{ range ¹ }}²{{ else }}²{{ end }}`, `{{ range $i, $v := ¹ }}{{ $v }}²{{ end }}`, `{{ $v := ¹ }}²{{ $v.³ }}{{ $v = ¹ }}²{{ $v }}`,
		`{{ template "x" ¹ }}²`, `{{ template "y" ¹ }}`, `{{ $_ := set ¹ "³" ¹ }}²`, `{{ with .Params }}{{ .³ }}²{{ end }}`,
		`{{ with .Params }}{{ template "y" . }}{{ end }}`)
}
