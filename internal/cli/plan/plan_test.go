package plan_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/definition/preview"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/value"
)

func TestPrint(t *testing.T) {
	t.Parallel()
	absent := value.Absent{}
	plans := []plan.Plan{
		{Object: "A/same", Outcome: preview.Unchanged},
		{Object: "A/changed", Namespace: "n", Outcome: preview.InPlace, Changes: []plan.Change{
			{Path: "spec.a", Old: int64(1), New: "x"}, {Path: "spec.b", Old: absent, New: []any{"<"}}, {Path: "spec.c", Old: true, New: absent},
		}},
		{Object: "Secret/s", Outcome: preview.InPlace, Changes: []plan.Change{{Path: "data.p", Old: "a", New: "b", Hidden: true}}},
		{
			Object: "A/refused", Outcome: preview.Invalid, Notes: []string{"a note"},
			Reasons: []finding.Finding{{Path: "spec", Message: "wrong"}, {Message: "no path", Fix: "a hint"}},
		},
		{Object: "A/odd", Outcome: plan.Unknown, Unchecked: []string{"v2"}},
		{Object: "A/old", Outcome: preview.Replace, Loss: preview.Loss{Status: []string{"phase"}, Children: children(22)}},
	}
	const want = `A/same: unchanged
A/changed in namespace n: updated in place
  ~ spec.a: 1 -> "x"
  + spec.b: ["<"]
  - spec.c: true
Secret/s: updated in place
  ~ data.p: (hidden) -> (hidden)
A/refused: refused
  spec: wrong
  no path
      a hint
  note: a note
A/odd: unknown
  not checked: the markers of v2, which need the conversion webhook
A/old: must be replaced
  plan: the update is refused, but the same object can be created
    - delete A/old
    + create A/old
  lost, besides the identity (uid, creation time):
    status: phase
    children, deleted with their owner: `
	var out bytes.Buffer
	plan.Print(&out, plans)
	got, last, _ := strings.Cut(out.String(), "Pod/0")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if !strings.HasSuffix(last, ", Pod/19, and 2 more (--cascade=orphan keeps them)\n") {
		t.Errorf("the list of children ends with %q", last)
	}
	if got, want := plan.Summary(plans), "2 updated in place, 1 must be replaced, 1 refused, 1 unknown, 1 unchanged"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
}

func children(count int) []preview.Child {
	var all []preview.Child
	for i := range count {
		all = append(all, preview.Child{Kind: "Pod", Name: fmt.Sprint(i)})
	}
	return all
}

// TestPrintJSON checks that JSON has all children, and no value of a Secret.
func TestPrintJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := plan.PrintJSON(&out, []plan.Plan{
		{Object: "Secret/s", Outcome: preview.InPlace, Changes: []plan.Change{
			{Path: "data.p", Old: "old", New: "new", Hidden: true}, {Path: "spec.b", Old: value.Absent{}, New: int64(1)},
		}},
		{Object: "A/old", Outcome: preview.Replace, Loss: preview.Loss{Children: children(22)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), "")
	for _, want := range []string{`{"hidden":true,"path":"data.p"}`, `{"new":1,"path":"spec.b"}`, `{"kind":"Pod","name":"21"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if strings.Contains(text, `"old":"old"`) {
		t.Errorf("the value of a Secret is in %s", text)
	}
}
