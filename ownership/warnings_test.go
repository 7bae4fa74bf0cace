package ownership_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// Long values are cut around their first difference, so that different values look
// different.
func TestCutValues(t *testing.T) {
	as, bs := strings.Repeat("a", 100), strings.Repeat("b", 100)
	for name, test := range map[string]struct{ applied, live, updated, want string }{
		"at the end":       {as + "1", as + "1", as + "2", `"…aaaaaaaaaaaaaaaa1\"" "…aaaaaaaaaaaaaaaa2\"" "…aaaaaaaaaaaaaaaa1\""`},
		"at the beginning": {"1" + as, "1" + as, "2" + as, `"\"1` + as[:62] + `…" "\"2` + as[:62] + `…" "\"1` + as[:62] + `…"`},
		"in the middle": {
			as + "1" + bs, as + "1" + bs, as + "2" + bs,
			`"…` + as[:16] + "1" + bs[:46] + `…" "…` + as[:16] + "2" + bs[:46] + `…" "…` + as[:16] + "1" + bs[:46] + `…"`,
		},
		"a short new value": {as, as, "x", `"\"` + as[:63] + `…" "\"x\"" "\"` + as[:63] + `…"`},
		"the applied value differs elsewhere": {
			as + bs + "z", as + bs + "x", "y" + as + bs + "x",
			`"\"` + as[:63] + `…" "\"y` + as[:62] + `…" "…` + bs[:16] + `z\""`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			content := func(v string) string { return fmt.Sprintf(`{"spec":{"a":%q}}`, v) }
			got := judge(t, loose, object(t, content(test.applied), content(test.live)), object(t, content(test.applied), content(test.updated)))
			if len(got) != 1 {
				t.Fatalf("said %q", got)
			}
			rest := got[0][strings.Index(got[0], "value from ")+len("value from "):]
			x, rest, _ := strings.Cut(rest, " to ")
			y, rest, _ := strings.Cut(rest, ".  This")
			_, rest, _ = strings.Cut(rest, "(last set the field to ")
			z, _, _ := strings.Cut(rest, "), and")
			if diff := cmp.Diff(test.want, fmt.Sprintf("%q %q %q", x, y, z)); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

// More than three findings of one kind share one explanation.
func TestManyFindings(t *testing.T) {
	const applied, w = `{"spec":{"a":1,"b":2,"c":3,"d":4,"long":5}}`, "example.dev/Widget/w "
	live := object(t, applied, `{spec: {a: 1, b: 2, c: 3, d: 4, long: 5}}`)
	updated := object(t, applied, `{spec: {a: 2, b: 3, c: 4, d: 5, long: 5}}`)
	want := []string{
		"`kubectl patch` changed 4 fields of the resource example.dev/Widget/w.  These fields are managed by `kubectl apply`, and may be " +
			"overwritten or cleared the next time `kubectl apply` is run.  To undo: `kubectl apply` the file again.  " +
			"To keep a field, here the first one: `holdfast transfer Widget.example.dev/w --field '.spec.a' --to imperative`.",
		w + ".spec.a: 1 → 2 (apply: 1)", w + ".spec.b: 2 → 3 (apply: 2)", w + ".spec.c: 3 → 4 (apply: 3)", w + ".spec.d: 4 → 5 (apply: 4)",
	}
	if diff := cmp.Diff(want, judge(t, loose, live, updated)); diff != "" {
		t.Errorf("a patch is told (-want +got):\n%s", diff)
	}
	write := ownership.Write{Type: loose, Live: updated, New: live, Writer: ownership.ParseWriter(ownership.Request{Command: "kubectl apply"})}
	verdict := ownership.Judge(write, nil)
	verdict.Findings[0].LastSet = ownership.Source{Name: "kubectl scale"}
	want = []string{
		"`kubectl apply` is changing 4 fields of the resource example.dev/Widget/w.  Their values do not match the last values set by " +
			"`apply`, and another source may have updated these fields.",
		w + ".spec.a: 2 → 1 (apply: 1; last set by kubectl scale)", w + ".spec.b: 3 → 2 (apply: 2)", w + ".spec.c: 4 → 3 (apply: 3)",
		w + ".spec.d: 5 → 4 (apply: 4)",
	}
	if diff := cmp.Diff(want, verdict.Warnings()); diff != "" {
		t.Errorf("apply is told (-want +got):\n%s", diff)
	}
	managed := ownership.Write{
		Type: loose, Live: yamltest.Map(t, `{spec: {a: 1, b: 2, c: 3, d: 4}}`), New: yamltest.Map(t, `{spec: {a: 2, b: 3, c: 4, d: 5}}`), Writer: person,
		LiveManagers: []metav1.ManagedFieldsEntry{{
			Manager: "ci", Operation: "Apply", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:a":{},"f:b":{},"f:c":{},"f:d":{}}}`),
		}},
	}
	verdict = ownership.Judge(managed, nil)
	want = []string{
		"`kubectl patch` changed 4 fields of the resource /.  These fields are managed by server-side apply (ci).  " +
			"The next apply of ci is refused with a conflict unless it forces.",
		"/ .spec.a: 1 → 2", "/ .spec.b: 2 → 3", "/ .spec.c: 3 → 4", "/ .spec.d: 4 → 5",
	}
	if diff := cmp.Diff(want, verdict.Warnings()); diff != "" {
		t.Errorf("with server-side apply, a patch is told (-want +got):\n%s", diff)
	}
}

// The last line has the number of fields that do not fit.
func TestOneMoreField(t *testing.T) {
	name := strings.Repeat("n", 300)
	content := func(value, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s%02d":%d`, name, i, value)
		}
		return `{"spec":{` + b.String()[1:] + `}}`
	}
	for n := 5; n < 50; n++ {
		got := judge(t, loose, object(t, content(1, n), content(1, n)), object(t, content(1, n), content(2, n)))
		if last := got[len(got)-1]; !strings.HasPrefix(last, "example.dev/Widget/w .spec") && n > 5 {
			if last != "and 1 more field of example.dev/Widget/w" {
				t.Errorf("%d fields: the last line is %q", n, last)
			}
			return
		}
	}
	t.Error("all fields fit")
}

// A long name is cut, and the namespace stays. No command is advised for a name that was cut.
func TestLongNames(t *testing.T) {
	const advice = "  To keep it: `holdfast transfer "
	for name, test := range map[string]struct {
		length int
		kept   bool
	}{"the longest name": {253, true}, "a name that is cut": {400, false}} {
		t.Run(name, func(t *testing.T) {
			full := strings.Repeat("n", test.length)
			content := func(value int) map[string]any {
				obj := object(t, `{"spec":{"a":1}}`, fmt.Sprintf(`{spec: {a: %d}}`, value))
				meta := obj["metadata"].(map[string]any)
				meta["name"], meta["namespace"] = full, "shop"
				return obj
			}
			got := judge(t, loose, content(1), content(2))
			if len(got) != 1 || !strings.Contains(got[0], "n -n shop field .spec.a") && !strings.Contains(got[0], "… -n shop field .spec.a") {
				t.Fatalf("told %q", got)
			}
			if has := strings.Contains(got[0], advice); has != test.kept || has && !strings.Contains(got[0], full+" -n shop --field '.spec.a'") {
				t.Errorf("the advice of %q", got[0])
			}
		})
	}
}
