package ownership_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// object returns a Widget with a last-applied configuration.
func object(t testing.TB, applied, content string) map[string]any {
	t.Helper()
	obj := yamltest.Map(t, content)
	obj["apiVersion"], obj["kind"] = "example.dev/v1", "Widget"
	meta, _ := obj["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		obj["metadata"] = meta
	}
	meta["name"], meta["uid"] = "w", "1"
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	annotations[ownership.LastApplied] = applied
	return obj
}

var loose = &ownership.Type{Applied: ownership.Untyped(), Managed: ownership.Untyped()}

var person = ownership.ParseWriter(ownership.Request{Command: "kubectl patch", FieldManager: "kubectl-patch", User: "jane"})

// judge returns the warnings about a patch, and asserts that they fit into headers.
func judge(t testing.TB, typ *ownership.Type, live, updated map[string]any) []string {
	t.Helper()
	verdict := ownership.Judge(ownership.Write{Type: typ, Live: live, New: updated, Writer: person}, nil)
	lines := verdict.Warnings()
	total := 0
	for _, line := range lines {
		total += utf8.RuneCountInString(line)
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("control characters in %q", line)
		}
	}
	if total > 4000 {
		t.Errorf("%d runes in all", total)
	}
	return lines
}

// TestIsSilent judges server-side applies that change a field of another manager, of the same manager, and of none.
func TestIsSilent(t *testing.T) {
	content := func(n int) map[string]any {
		return yamltest.Map(t, fmt.Sprintf("{apiVersion: example.dev/v1, kind: Widget, metadata: {name: w, uid: u}, spec: {a: %d, b: %d, c: %d}}", n, n, n))
	}
	for _, force := range []bool{false, true} {
		write := ownership.Write{
			Type: loose, Live: content(1), New: content(2), Writer: ownership.Writer{Act: ownership.ServerSideApply, Manager: "ci", Command: "ci", Force: force},
			LiveManagers: []metav1.ManagedFieldsEntry{
				entry("ci", metav1.ManagedFieldsOperationApply, 1, `{"f:spec":{"f:a":{}}}`), entry("other", metav1.ManagedFieldsOperationApply, 1, `{"f:spec":{"f:b":{}}}`),
			},
		}
		write.NewManagers = []metav1.ManagedFieldsEntry{entry("ci", metav1.ManagedFieldsOperationApply, 2, `{"f:spec":{"f:a":{},"f:b":{},"f:c":{}}}`)}
		for i := range write.LiveManagers {
			write.LiveManagers[i].APIVersion = "example.dev/v1"
		}
		write.NewManagers[0].APIVersion = "example.dev/v1"
		verdict := ownership.Judge(write, nil)
		if isSilent := len(verdict.Findings) == 0 && verdict.Note == ""; isSilent != write.Writer.IsSilent() || isSilent == force {
			t.Errorf("forced %t: IsSilent is %t, and the verdict has %d findings and the note %q", force, write.Writer.IsSilent(), len(verdict.Findings), verdict.Note)
		}
	}
}

func TestNeverJudged(t *testing.T) {
	applied := `{"metadata":{"name":"w","labels":{},"annotations":{}},"spec":{"a":1},"status":{"s":1}}`
	live := object(t, applied, `{metadata: {resourceVersion: "1", generation: 1, labels: {x: y}}, spec: {a: 1, b: {}}, status: {s: 1}}`)
	for name, content := range map[string]string{
		"status and what the server sets": `{metadata: {resourceVersion: "2", generation: 2, managedFields: [],
			creationTimestamp: x, labels: {x: y}}, spec: {a: 1, b: {}}, status: {s: 2}}`,
		"members of a map applied empty": `{metadata: {resourceVersion: "1", annotations: {free: "1"}}, spec: {a: 1, b: {}},
			status: {s: 1}}`,
		"free fields": `{metadata: {resourceVersion: "1", labels: {x: z}}, spec: {a: 1.0, b: {c: 2}, d: []}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := judge(t, loose, live, object(t, applied, content)); got != nil {
				t.Errorf("said %q", got)
			}
			if got := judge(t, loose, live, object(t, `{"spec":{"z":1}}`, content)); got != nil {
				t.Errorf("with another annotation, said %q", got)
			}
		})
	}
}

// A null in a configuration of a custom resource owns nothing, also in labels.
func TestNullOfCustomResource(t *testing.T) {
	applied := `{"metadata":{"name":"w","labels":{"x":null}},"spec":{"a":null}}`
	live, updated := object(t, applied, "{}"), object(t, applied, "{metadata: {labels: {x: y}}, spec: {a: 1}}")
	if got := judge(t, loose, live, updated); got != nil {
		t.Errorf("said %q", got)
	}
}

func TestMalformed(t *testing.T) {
	content := `{spec: {a: 2}}`
	for name, applied := range map[string]string{
		"no JSON": "{", "empty text": " ", "a list": "[1]", "a string": `"x"`, "null": "null", "control characters": "\x00\n{",
		"a megabyte of brackets": strings.Repeat("[", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			got := judge(t, loose, object(t, applied, `{spec: {a: 1}}`), object(t, applied, content))
			if len(got) != 1 || !strings.HasPrefix(got[0], "ownership not checked: ") || !strings.HasSuffix(got[0], " (example.dev/Widget/w)") {
				t.Errorf("said %q", got)
			}
		})
	}
	for name, applied := range map[string]string{
		"nothing": "{}", "nulls": `{"metadata":null,"spec":null}`, "wrong types": `{"metadata":[],"spec":"x","status":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, line := range judge(t, loose, object(t, applied, `{spec: {a: 1}}`), object(t, applied, content)) {
				if strings.Contains(line, "ownership not checked") {
					t.Errorf("said %q", line)
				}
			}
		})
	}
	t.Run("a kind that is not known", func(t *testing.T) {
		got := judge(t, nil, object(t, "{}", `{spec: {a: 1}}`), object(t, "{}", content))
		if diff := cmp.Diff([]string{"ownership not checked: the kind is not known (example.dev/Widget/w)"}, got); diff != "" {
			t.Errorf("said (-want +got):\n%s", diff)
		}
	})
	t.Run("managed fields", func(t *testing.T) {
		for _, fields := range []string{"{", "[]", `{"f:spec":1}`, `{"k:{":{}}`, `{"x":{}}`, `{"v:1":{},"i:0":{},"k:{\"a\":1}":{}}`} {
			managers := []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Apply", FieldsV1: metav1.NewFieldsV1(fields)}}
			ownership.Judge(ownership.Write{
				Type: loose, Writer: person, Live: yamltest.Map(t, `{spec: {a: 1}}`), New: yamltest.Map(t, content), LiveManagers: managers,
			}, nil)
		}
	})
}

func TestLines(t *testing.T) {
	line := func(field, x, y, z string) string {
		return fmt.Sprintf("`kubectl patch` changed the resource example.dev/Widget/w field %s value from %s to %s.  This "+
			"field is managed by `kubectl apply` (last set the field to %s), and may be overwritten or cleared the next time "+
			"`kubectl apply` is run.  To undo: `kubectl apply` the file again, or set the field back to %s.  To keep it: "+
			"`holdfast transfer Widget.example.dev/w --field '%s' --to imperative`.", field, x, y, z, z, field)
	}
	tests := map[string]struct {
		applied, live, updated string
		want                   []string
	}{
		"values are compact JSON": {
			`{"spec":{"a":{"b":[1,true,"x<y"]},"q":1.5}}`, `{spec: {a: {b: [1, true, "x<y"]}, q: 1.5}}`, `{spec: {a: {b: []}, q: -2}}`,
			[]string{line(".spec.a.b", `[1,true,"x<y"]`, `[]`, `[1,true,"x<y"]`), line(".spec.q", "1.5", "-2", "1.5")},
		},
		"control characters are escaped": {
			`{"spec":{"a":"x"}}`, `{"spec": {"a": "1\n2\u0007\u0085"}}`, `{"spec": {"a": "\"\\\u202e\U0001d173"}}`,
			[]string{line(".spec.a", `"1\n2\u0007\u0085"`, `"\"\\\u202e\ud834\udd73"`, `"x"`)},
		},
		"values are cut": {
			`{"spec":{"a":"x"}}`, `{spec: {a: ` + strings.Repeat("é", 70) + `}}`, `{spec: {a: z}}`,
			[]string{line(".spec.a", `"`+strings.Repeat("é", 63)+"…", `"z"`, `"x"`)},
		},
		"names that are no identifiers": {
			`{"metadata":{"labels":{"app.kubernetes.io/name":"a"}},"spec":{"a b\u0001":1}}`,
			`{"metadata": {"labels": {"app.kubernetes.io/name": "a"}}, "spec": {"a b\u0001": 1}}`,
			`{"metadata": {"labels": {"app.kubernetes.io/name": "b"}}, "spec": {"a b\u0001": 2}}`,
			[]string{line(`.metadata.labels["app.kubernetes.io/name"]`, `"a"`, `"b"`, `"a"`), line(`.spec["a b\x01"]`, "1", "2", "1")},
		},
		"the topmost path": {
			`{"spec":{"a":{"b":{"c":1,"d":2}}}}`, `{spec: {a: {b: {c: 1, d: 2}}}}`, `{spec: {}}`,
			[]string{line(".spec.a", `{"b":{"c":1,"d":2}}`, "<none>", `{"b":{"c":1,"d":2}}`)},
		},
		"what goes with what is not owned": {
			`{"spec":{"a":{"b":1}}}`, `{spec: {a: {c: 1}}}`, `{spec: {}}`, nil,
		},
		"a map that becomes something else": {
			`{"spec":{"a":{"b":1}}}`, `{spec: {a: {b: 1}}}`, `{spec: {a: text}}`,
			[]string{line(".spec.a", `{"b":1}`, `"text"`, `{"b":1}`)},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := judge(t, loose, object(t, test.applied, test.live), object(t, test.applied, test.updated))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	many := func(value string) string {
		var b strings.Builder
		for i := range 20000 {
			fmt.Fprintf(&b, `,"field-%05d":"%s %s"`, i, value, strings.Repeat("x", 36))
		}
		return `{"spec":{` + b.String()[1:] + `}}`
	}
	applied := many("a")
	if len(applied) < 1<<20 {
		t.Fatalf("only %d bytes", len(applied))
	}
	got := judge(t, loose, object(t, applied, many("a")), object(t, applied, many("b")))
	if last := got[len(got)-1]; last != fmt.Sprintf("and %d more fields of example.dev/Widget/w", 20000-len(got)+2) {
		t.Errorf("the last of %d lines is %q", len(got), last)
	}
	t.Run("one absurd path", func(t *testing.T) {
		key := strings.Repeat("k", 1<<20)
		applied := `{"spec":{"` + key + `":1}}`
		got := judge(t, loose, object(t, applied, `{"spec":{"`+key+`":1}}`), object(t, applied, `{"spec":{"`+key+`":2}}`))
		if len(got) != 1 || utf8.RuneCountInString(got[0]) > 1000 {
			t.Errorf("%d lines", len(got))
		}
	})
	t.Run("one deep path", func(t *testing.T) {
		deep := func(leaf string) string {
			return strings.Repeat(`{"a":`, 5000) + leaf + strings.Repeat(`}`, 5000)
		}
		if got := judge(t, loose, object(t, deep("1"), deep("1")), object(t, deep("1"), deep("2"))); len(got) != 1 {
			t.Errorf("%d lines", len(got))
		}
	})
	t.Run("refusals", func(t *testing.T) {
		verdict := ownership.Judge(ownership.Write{
			Type: loose, Live: object(t, applied, many("a")), New: object(t, applied, many("b")),
			Writer: ownership.ParseWriter(ownership.Request{Command: "kubectl edit"}),
		}, nil)
		if got := verdict.Refusals(); len(got) != 51 || got[50].Message != "and 19950 more fields" {
			t.Errorf("%d refusals", len(got))
		}
	})
}

func TestCache(t *testing.T) {
	decoded := 0
	canonical := func(config []byte) (out map[string]any, _ []string, err error) {
		decoded++
		err = utiljson.Unmarshal(config, &out)
		return out, nil, err
	}
	typ := &ownership.Type{Applied: ownership.Untyped(), Managed: ownership.Untyped(), Canonical: canonical}
	cache := ownership.NewCache(100)
	write := func(uid, applied string) {
		live := object(t, applied, `{spec: {a: 1}}`)
		live["metadata"].(map[string]any)["uid"] = uid
		ownership.Judge(ownership.Write{Type: typ, Live: live, New: object(t, applied, `{spec: {a: 2}}`), Writer: person}, cache)
	}
	for _, step := range []struct {
		uid, applied string
		want         int
	}{
		{"1", `{"spec":{"a":1}}`, 1},
		{"1", `{"spec":{"a":1}}`, 1},
		{"2", `{"spec":{"a":1}}`, 2},
		{"1", `{"spec":{"a":2}}`, 3},
		{"1", `{"spec":{"a":2}}`, 3},
		{"3", `{"spec":{"a":"` + strings.Repeat("x", 80) + `"}}`, 4},
		{"3", `{"spec":{"a":"` + strings.Repeat("x", 80) + `"}}`, 4},
		{"4", `{"spec":{"a":"` + strings.Repeat("x", 200) + `"}}`, 5},
		{"4", `{"spec":{"a":"` + strings.Repeat("x", 200) + `"}}`, 6},
	} {
		if write(step.uid, step.applied); decoded != step.want {
			t.Fatalf("%s %s: decoded %d times, want %d", step.uid, step.applied, decoded, step.want)
		}
	}
}
