package kudo_test

import (
	"strings"
	"testing"
)

func testPlans(t *testing.T, w world) {
	w.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	w.fails(t, "'none'", "plan", "trigger", "tok", "none")
	w.fails(t, "plan 'break' ended with FATAL_ERROR: save.copy: task fail: the task is meant to fail for good", "plan", "trigger", "tok", "break", "--wait")
	out := w.must(t, "plan", "trigger", "tok", "backup", "--wait", "--timeout", "0")
	for _, want := range []string{"plan backup of instance tok triggered\n", "backup/save/copy [COMPLETE]", "backup [COMPLETE]\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if out := w.must(t, "plan", "status", "tok"); !strings.Contains(out, "backup [COMPLETE]\n└── save [COMPLETE]\n    └── copy [COMPLETE]") {
		t.Errorf("status:\n%s", out)
	}
	if out := w.must(t, "plan", "history", "tok"); !strings.Contains(out, "backup   COMPLETE") {
		t.Errorf("history:\n%s", out)
	}
}
