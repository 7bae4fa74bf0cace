package kudo_test

import (
	"strings"
	"testing"
)

// testPlans checks the commands plan trigger, plan status and plan history.
func testPlans(t *testing.T, c cluster) {
	c.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "tok")
	c.fails(t, "'none'", "plan", "trigger", "tok", "none")
	c.fails(t, "plan 'break' ended with FATAL_ERROR: save.copy: task fail: the task is meant to fail for good",
		"plan", "trigger", "tok", "break", "--wait")
	out := c.must(t, "plan", "trigger", "tok", "backup", "--wait", "--timeout", "0")
	for _, want := range []string{
		"plan backup of instance tok triggered\n", "backup/save/copy [COMPLETE]", "backup [COMPLETE]\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	const tree = "backup [COMPLETE]\n└── save [COMPLETE]\n    └── copy [COMPLETE]"
	if out := c.must(t, "plan", "status", "tok"); !strings.Contains(out, tree) {
		t.Errorf("status:\n%s", out)
	}
	if out := c.must(t, "plan", "history", "tok"); !strings.Contains(out, "backup   COMPLETE") {
		t.Errorf("history:\n%s", out)
	}
}
