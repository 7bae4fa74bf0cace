package plan_test

import (
	"slices"
	"testing"

	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/finding"
)

func TestWithConditions(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`field is immutable: changed from "a" to "b"`: "fix",
		// Words in values are no condition.
		`field is immutable: changed from "a" to "x while y: changed"`: "fix",
		`Invalid value: "b": field is immutable while oldSelf.a == "x: y": changed from "a" to "b", which policy p forbids`: `refused while ` +
			`oldSelf.a == "x: y", which is true now; fix`,
		`field is immutable: addition only while oldSelf.a: removed "b"`: "refused while oldSelf.a, which is true now; fix",
		`field is immutable: update=NoSet,NoModify while oldSelf.a: added "b"; the condition could not be evaluated: no such key: a`: "the rule " +
			"holds, because its condition cannot be evaluated for the stored object; fix",
		`field is immutable once set while oldSelf.a: changed from 1 to 2 (a user that may resize it can change it)`: "refused while oldSelf.a, " +
			"which is true now; you do not have the right to resize; fix",
		`field is immutable: removed "b" (a user that may move it can change it)`: "fix",
	} {
		lacks := func(verb string) bool { return verb == "resize" }
		if got := plan.WithConditions(finding.Finding{Message: message, Fix: "fix"}, lacks); got != want {
			t.Errorf("%s:\n got %s\nwant %s", message, got, want)
		}
	}
}

func TestOverride(t *testing.T) {
	t.Parallel()
	var p plan.Plan
	for _, warning := range []string{"v1 Widget is deprecated", `spec.size: changed from "L" to "M" by the right to resize`} {
		p.Override(warning)
	}
	want := []string{`you have the right to resize, so the server accepts with a warning: spec.size: changed from "L" to "M"`}
	if !slices.Equal(p.Notes, want) {
		t.Errorf("notes %q", p.Notes)
	}
}
