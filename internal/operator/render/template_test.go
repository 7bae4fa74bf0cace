package render_test

import (
	"context"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/operator/render"
)

var values = render.Values{
	Name: "zk", Namespace: "prod", OperatorName: "zookeeper", OperatorVersion: "0.3.0", AppVersion: "3.6",
	PlanName: "deploy", PhaseName: "main", StepName: "nodes",
	Params: map[string]any{"COUNT": "3", "HOSTS": []any{"a", "b"}, "LABELS": map[string]any{"x": int64(1), "a": "y"}, "EMPTY": ""},
	Pipes:  map[string]string{"cert": "zk-cert"},
}

func TestTemplate(t *testing.T) {
	tests := map[string]struct{ source, want string }{
		"values": {
			source: `{{.Name}} {{.Namespace}} {{.OperatorName}} {{.OperatorVersion}} {{.AppVersion}} {{.PlanName}} {{.PhaseName}} {{.StepName}} ` +
				`{{.Params.COUNT}} {{.Pipes.cert}}`,
			want: "zk prod zookeeper 0.3.0 3.6 deploy main nodes 3 zk-cert",
		},
		"sprig": {
			source: `{{ .Params.COUNT | int | add1 }} {{ "a,b" | splitList "," | join "-" }} {{ .Params.EMPTY | default "none" | quote }}`,
			want:   `4 a-b "none"`,
		},
		"toYaml":           {source: "x:\n{{ toYaml .Params.LABELS | indent 2 }}", want: "x:\n  a: \"y\"\n  x: 1"},
		"loops":            {source: `{{ range $i, $h := .Params.HOSTS }}{{ if $i }},{{ end }}{{ $h }}{{ end }}`, want: "a,b"},
		"until":            {source: `{{ range until (int .Params.COUNT) }}{{ . }}{{ end }}`, want: "012"},
		"definitions":      {source: `{{ define "a" }}[{{ . }}]{{ end }}{{ template "a" "x" }}{{ template "a" .Name }}`, want: "[x][zk]"},
		"only definitions": {source: `{{ define "a" }}[{{ . }}]{{ end }}`},
		"empty":            {},
		"break and continue": {
			source: `{{ range until 9 }}{{ if eq . 2 }}{{ continue }}{{ end }}{{ if eq . 4 }}{{ break }}{{ end }}{{ . }}{{ end }}`,
			want:   "013",
		},
		"else of a loop": {
			source: `{{ range until 0 }}x{{ else }}none{{ end }}{{ with .Params.EMPTY }}x{{ else }}nothing{{ end }}`,
			want:   "nonenothing",
		},
		"variables": {source: `{{ $a := 1 }}{{ $a = 2 }}{{ $a }}`, want: "2"},
		"printed as fmt does": {
			source: `{{ 1.5 }} {{ true }} {{ list 1 "a" nil }} {{ printf "%03d|%s" 7 "x" }} {{ print 1 2 "a" }} {{ html "<" }}`,
			want:   `1.5 true [1 a <nil>] 007|x 1 2a &lt;`,
		},
		"no value": {source: `{{ index (list nil) 0 }}`, want: "<no value>"},
		"and, or":  {source: `{{ and .Params.EMPTY (fail "not reached") }}{{ or "a" (fail "not reached") }}`, want: "a"},
		"ten thousand": {
			source: `{{ len (until 10000) }} {{ len (repeat 10000 "ab") }} {{ len (untilStep 0 100000 10) }} {{ len (splitList " " (seq 10000)) }}`,
			want:   "10000 20000 10000 10000",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := render.Template(t.Context(), "x.yaml", test.source, values)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTemplateRefused(t *testing.T) {
	tests := map[string]struct{ source, want string }{
		"syntax":            {source: "a\n{{ if }}", want: "x.yaml:2: missing value for if"},
		"missing parameter": {source: "{{ .Params.TYPO }}", want: `map has no entry for key "TYPO"`},
		"missing pipe":      {source: "{{ .Pipes.TYPO }}", want: `map has no entry for key "TYPO"`},
		"missing value":     {source: "{{ .Typo }}", want: `map has no entry for key "Typo"`},
		"until":             {source: `{{ until 10001 }}`, want: "until: 10001 is more than 10000"},
		"untilStep": {
			source: `{{ untilStep 0 20001 2 | len }}{{ untilStep 0 20002 2 }}`,
			want:   "untilStep: 10001 is more than 10000",
		},
		"untilStep with large numbers": {source: `{{ untilStep -9223372036854775808 9223372036854775807 1 }}`, want: "out of range"},
		"seq":                          {source: `{{ seq 20000 }}`, want: "seq: 19999 is more than 10000"},
		"seq of three":                 {source: `{{ seq 0 2 30000 }}`, want: "seq: 15000 is more than 10000"},
		"repeat":                       {source: `{{ repeat 10001 "a" }}`, want: "repeat: 10001 is more than 10000"},
		"repeated repeats":             {source: `{{ repeat 10000 (repeat 10000 "a") }}`, want: "repeat: the result would be larger than 4 MiB"},
		"random text":                  {source: `{{ randAlphaNum 100000000 }}`, want: "randAlphaNum: 100000000 is more than 10000"},
		"indent":                       {source: `{{ indent 1000000000 "a" }}`, want: "indent: 1000000000 is more than 10000"},
		"indented lines":               {source: `{{ indent 10000 (repeat 10000 "\n") }}`, want: "indent: the result would be larger than 4 MiB"},
		"replace": {
			source: `{{ replace "a" (repeat 10000 "b") (repeat 10000 "a") }}`,
			want:   "replace: the result would be larger than 4 MiB",
		},
		"regular expressions": {
			source: `{{ regexReplaceAll "a" (repeat 10000 "a") (repeat 10000 "b") }}`,
			want:   "regexReplaceAll: the result would be larger than 4 MiB",
		},
		"join":     {source: `{{ join (repeat 10000 "b") (until 10000) }}`, want: "join: the result would be larger than 4 MiB"},
		"wrapWith": {source: `{{ wrapWith 1 (repeat 10000 "b") (repeat 10000 "a") }}`, want: "wrapWith: the result would be larger than 4 MiB"},
		"widths": {
			source: `{{ printf "%999999d%999999d%999999d%999999d%999999d" 1 1 1 1 1 }}`,
			want:   "printf: the result would be larger than 4 MiB",
		},
		"widths in arguments": {
			source: `{{ printf "%*d%*d%*d%*d%*d" 999999 1 999999 1 999999 1 999999 1 999999 1 }}`,
			want:   "printf: the result would be larger than 4 MiB",
		},
		"one argument, many times": {
			source: `{{ printf (repeat 10000 "%[1]s") (repeat 10000 "a") }}`,
			want:   "printf: the result would be larger than 4 MiB",
		},
		"output": {source: `{{ range until 10000 }}{{ repeat 1000 "a" }}{{ end }}`, want: "the output is larger than 4 MiB"},
		"loops in loops": {
			source: `{{ range until 10000 }}{{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}{{ end }}`,
			want:   "the template does too much work",
		},
		"doubled text": {source: `{{ $s := "a" }}{{ range until 100 }}{{ $s = print $s $s }}{{ end }}`, want: "larger than 4 MiB"},
		"doubled lists": {
			source: `{{ $l := list 1 }}{{ range until 100 }}{{ $l = concat $l $l }}{{ end }}`,
			want:   "the template does too much work",
		},
		"lists in lists": {
			source: `{{ $l := list 1 }}{{ range until 60 }}{{ $l = list $l $l }}{{ end }}`,
			want:   "the template does too much work",
		},
		"an object that holds itself": {source: `{{ $d := dict }}{{ $_ := set $d "self" $d }}{{ $d }}`, want: "nested more than 100 levels deep"},
		"a copy of itself": {
			source: `{{ $d := dict }}{{ $x := dict "d" $d }}{{ $_ := set $d "self" $x }}{{ deepCopy $d }}`,
			want:   "nested more than 100 levels deep",
		},
		"templates without end": {source: `{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`, want: "too much work"},
		"a panic":               {source: `{{ div 1 0 }}`, want: "divide by zero"},
		"fail":                  {source: `{{ fail "no such mode" }}`, want: "no such mode"},
	}
	for _, function := range []string{"env", "expandenv", "base", "dir", "clean", "ext", "isAbs", "getHostByName"} {
		tests["function "+function] = struct{ source, want string }{`{{ ` + function + ` "HOME" }}`, `function "` + function + `" not defined`}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := render.Template(t.Context(), "x.yaml", test.source, values)
			if err == nil {
				t.Fatalf("rendered %.80q", got)
			}
			if !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "x.yaml:") {
				t.Errorf("got %q, want an error that contains %q", err, test.want)
			}
		})
	}
}

// TestTemplateDoesNotChangeValues checks that a template which changes its data with
// sprig's set changes neither the caller's values nor those of the next template.
func TestTemplateDoesNotChangeValues(t *testing.T) {
	data := render.Values{Params: map[string]any{"LABELS": map[string]any{"a": "b"}}}
	const source = `{{ $_ := set .Params "X" "y" }}{{ $_ := set .Params.LABELS "X" "y" }}`
	if _, err := render.Template(t.Context(), "x.yaml", source, data); err != nil {
		t.Fatal(err)
	}
	if _, err := render.Template(t.Context(), "x.yaml", `{{ .Params.X }}`, data); err == nil {
		t.Error("a template changed the data of the next one")
	}
	if len(data.Params["LABELS"].(map[string]any)) != 1 {
		t.Errorf("a template changed %v", data.Params)
	}
}

func TestTemplateEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := render.Template(ctx, "x.yaml", `{{ range until 10 }}{{ end }}`, values)
	if err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("got %v", err)
	}
}

// endingContext is a context that ends when it is asked for the second time.
type endingContext struct {
	context.Context
	asked int
}

func (e *endingContext) Err() error {
	if e.asked++; e.asked > 1 {
		return context.Canceled
	}
	return nil
}

func TestTemplateEndsBetweenCalls(t *testing.T) {
	_, err := render.Template(&endingContext{Context: t.Context()}, "x.yaml", `{{ upper "a" }}{{ upper "b" }}{{ upper "c" }}`, values)
	if err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("got %v", err)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, source := range []string{
		`{{ range until 10000 }}{{ repeat 10000 "x" }}{{ end }}`, `{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`,
		`{{ $d := dict }}{{ $_ := set $d "a" $d }}{{ toYaml $d }}`, `{{ .Params.HOSTS | toYaml | nindent 4 }}`, `{{ printf "%*[1]d" 99999999 }}`,
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		got, err := render.Template(t.Context(), "x.yaml", source, values)
		if err == nil && len(got) > render.MaxOutput {
			t.Errorf("%d bytes", len(got))
		}
		if err == nil {
			_, _ = render.Objects(got) // It must return, with or without an error.
		}
	})
}

func BenchmarkTemplate(b *testing.B) {
	for b.Loop() {
		if _, err := render.Template(b.Context(), "x.yaml", `{{ range .Params.HOSTS }}{{ . | quote }}{{ end }}`, values); err != nil {
			b.Fatal(err)
		}
	}
}
