package kudo_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/waittest"
)

// hang writes a package and returns its path. The plans hang and cleanup never end.
func hang(t *testing.T) string {
	t.Helper()
	const phases = "{phases: [{name: main, steps: [{name: only, tasks: [TASK]}]}]}"
	plan := func(task string) string { return strings.ReplaceAll(phases, "TASK", task) }
	return folder(t, map[string]string{
		"operator.yaml": "name: hang\noperatorVersion: 0.1.0\n" +
			"tasks: [{name: go, kind: Dummy, spec: {done: true}}, {name: wait, kind: Dummy}]\n" +
			"plans: {deploy: " + plan("go") + ", hang: " + plan("wait") + ", cleanup: " + plan("wait") + "}\n",
		"params.yaml": "parameters: [{name: SIZE, default: '1'}]",
	})
}

// trigger is a writer that calls a function once, when a text has been written to it.
type trigger struct {
	bytes.Buffer
	text string
	then func()
}

// Write implements io.Writer.
func (s *trigger) Write(text []byte) (int, error) {
	n, err := s.Buffer.Write(text)
	if s.then != nil && strings.Contains(s.String(), s.text) {
		then := s.then
		s.then = nil
		then()
	}
	return n, err
}

// testWait checks --wait with a plan that does not end: the command fails, and the plan
// continues.
func testWait(t *testing.T, c cluster) {
	out := c.must(t, "install", hang(t), "--instance", "hang", "--wait")
	for _, want := range []string{
		"instance hang of hang-0.1.0 installed\n", "deploy/main/only [COMPLETE]\n", "deploy [COMPLETE]\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	const goesOn = ": plan 'hang' is not done and goes on: holdfast kudo plan status hang"
	c.fails(t, "after 1s"+goesOn, "plan", "trigger", "hang", "hang", "--wait", "--timeout", "1s")

	// From here on a plan is running, so must and fails, which wait for its end, cannot be used.
	ctx, cancel := context.WithCancel(t.Context())
	err := c.run(ctx, &trigger{text: "IN_PROGRESS", then: cancel}, "plan", "status", "hang", "--wait")
	if err == nil || err.Error() != "interrupted"+goesOn {
		t.Errorf("interrupted: %v", err)
	}
	if running := c.instance(t, "hang").RunningPlan(); running != "hang" {
		t.Errorf("plan %q runs", running)
	}
	newer := folder(t, map[string]string{"operator.yaml": parent("hang", "0.2.0")})
	const want = " refused:\nplan 'hang' is running: wait until it has ended"
	for _, args := range [][]string{{"update", "hang", "-p", "SIZE=2"}, {"plan", "trigger", "hang", "deploy"}, {"upgrade", newer}} {
		if _, err := c.kudo(t.Context(), args...); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("kudo %s: %v", strings.Join(args, " "), err)
		}
	}
	if got := c.names(t, "operatorversions"); got != "hang-0.1.0" {
		t.Errorf("left behind: %s", got)
	}
	if out, err := c.kudo(t.Context(), "plan", "cancel", "hang"); err != nil || out != "plan hang of instance hang cancelled\n" {
		t.Errorf("cancel: %s, %v", out, err)
	}
	c.fails(t, "instance hang: no plan is running", "plan", "cancel", "hang")
	c.must(t, "update", "hang", "-p", "SIZE=2", "--wait")
}

// testWaitBegins checks that --wait shows why a run cannot start.
func testWaitBegins(t *testing.T, c cluster) {
	if err := c.create(t, `{apiVersion: kudo.dev/v1beta1, kind: OperatorVersion, metadata: {name: alone-0.1.0},
  spec: {operator: {name: alone}, version: 0.1.0,
  tasks: [{name: other, kind: KudoOperator, spec: {package: missing}}],
  plans: {deploy: {phases: [{name: main, steps: [{name: only, tasks: [other]}]}]}}}}
---
{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: alone}, spec: {operatorVersion: {name: alone-0.1.0}}}`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := &trigger{text: "deploy [ERROR] there is no version of operator missing in namespace wait-begins\n", then: cancel}
	err := c.run(ctx, out, "plan", "trigger", "alone", "deploy", "--wait", "--timeout", "1m")
	if err == nil || !strings.HasPrefix(err.Error(), "interrupted: ") {
		t.Errorf("ended with %v:\n%s", err, out)
	}
}

// testWaitEnds checks that --wait ends when the run is replaced and when the Instance is
// deleted.
func testWaitEnds(t *testing.T, c cluster) {
	c.must(t, "install", hang(t), "--instance", "hang", "--wait")
	follow := func(then func()) error {
		out := &trigger{text: "hang/main/only [IN_PROGRESS]", then: then}
		return c.run(t.Context(), out, "plan", "trigger", "hang", "hang", "--wait", "--timeout", "0")
	}
	again := func() {
		if _, err := c.kudo(t.Context(), "plan", "trigger", "hang", "hang"); err != nil {
			t.Error(err)
		}
	}
	if err := follow(again); err == nil || err.Error() != "plan 'hang' was replaced by another run, of plan 'hang'" {
		t.Errorf("replaced: %v", err)
	}
	_, err := c.kudo(t.Context(), "uninstall", "hang", "--wait", "--timeout", "1s")
	if err == nil || err.Error() != "after 1s: instance hang is not gone yet" {
		t.Errorf("uninstall: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.kudo(ctx, "uninstall", "hang", "--wait"); err == nil {
		t.Error("an interrupted command succeeded")
	}
	// Without its finalizer the Instance is deleted at once, while its plan is running.
	waittest.Until(t, "cleanup runs", func() bool { return c.instance(t, "hang").RunningPlan() == "cleanup" })
	free := func() {
		if err := c.patch(t.Context(), "hang", `{"metadata":{"finalizers":null}}`); err != nil {
			t.Error(err)
		}
	}
	err = c.run(t.Context(), &trigger{text: "IN_PROGRESS", then: free}, "plan", "status", "hang", "--wait", "--timeout", "0")
	if err == nil || err.Error() != "instance hang was deleted while plan 'cleanup' ran" {
		t.Errorf("deleted: %v", err)
	}
	list, err := c.resource("instances").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("%v, %d instances", err, len(list.Items))
	}
}
