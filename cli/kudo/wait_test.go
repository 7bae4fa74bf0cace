package kudo_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/servertest"
)

// hang is a package whose plans hang and cleanup wait for ever.
func hang(t *testing.T) string {
	t.Helper()
	const phases = "{phases: [{name: main, steps: [{name: only, tasks: [TASK]}]}]}"
	plan := func(task string) string { return strings.ReplaceAll(phases, "TASK", task) }
	return folder(t, map[string]string{
		"operator.yaml": "name: hang\noperatorVersion: 0.1.0\ntasks: [{name: go, kind: Dummy, spec: {done: true}}, {name: wait, kind: Dummy}]\n" +
			"plans: {deploy: " + plan("go") + ", hang: " + plan("wait") + ", cleanup: " + plan("wait") + "}\n",
		"params.yaml": "parameters: [{name: SIZE, default: '1'}]",
	})
}

// seen calls a function when a text was written to it.
type seen struct {
	bytes.Buffer
	text string
	then func()
}

func (s *seen) Write(text []byte) (int, error) {
	n, err := s.Buffer.Write(text)
	if s.then != nil && strings.Contains(s.String(), s.text) {
		then := s.then
		s.then = nil
		then()
	}
	return n, err
}

// testWait: who waits for a plan in vain is told so, and the plan goes on.
func testWait(t *testing.T, w world) {
	out := w.must(t, "install", hang(t), "--wait")
	for _, want := range []string{"instance hang of hang-0.1.0 installed\n", "deploy/main/only [COMPLETE]\n", "deploy [COMPLETE]\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	const goesOn = ": plan 'hang' is not done and goes on: holdfast kudo plan status hang"
	w.fails(t, "after 1s"+goesOn, "plan", "trigger", "hang", "hang", "--wait", "--timeout", "1s")

	// From here a plan runs, so that nothing settles.
	ctx, cancel := context.WithCancel(t.Context())
	err := w.run(ctx, &seen{text: "IN_PROGRESS", then: cancel}, "plan", "status", "hang", "--wait")
	if err == nil || err.Error() != "interrupted"+goesOn {
		t.Errorf("interrupted: %v", err)
	}
	if running := w.instance(t, "hang").RunningPlan(); running != "hang" {
		t.Errorf("plan %q runs", running)
	}
	newer := folder(t, map[string]string{"operator.yaml": parent("hang", "0.2.0")})
	for _, args := range [][]string{{"update", "hang", "-p", "SIZE=2"}, {"plan", "trigger", "hang", "deploy"}, {"upgrade", newer}} {
		if _, err := w.kudo(t.Context(), args...); err == nil || !strings.HasSuffix(err.Error(), " refused:\nplan 'hang' is running: wait until it has ended") {
			t.Errorf("kudo %s: %v", strings.Join(args, " "), err)
		}
	}
	if got := w.names(t, "operatorversions"); got != "hang-0.1.0" {
		t.Errorf("left behind: %s", got)
	}
}

// testWaitBegins: why a run cannot even begin is shown.
func testWaitBegins(t *testing.T, w world) {
	if err := w.create(t, `{apiVersion: kudo.dev/v1beta1, kind: OperatorVersion, metadata: {name: alone-0.1.0}, spec: {operator: {name: alone}, version: 0.1.0,
  tasks: [{name: other, kind: KudoOperator, spec: {package: nobody}}],
  plans: {deploy: {phases: [{name: main, steps: [{name: only, tasks: [other]}]}]}}}}
---
{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: alone}, spec: {operatorVersion: {name: alone-0.1.0}}}`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := &seen{text: "deploy [ERROR] there is no version of operator nobody in namespace wait-begins\n", then: cancel}
	err := w.run(ctx, out, "plan", "trigger", "alone", "deploy", "--wait", "--timeout", "1m")
	if err == nil || !strings.HasPrefix(err.Error(), "interrupted: ") {
		t.Errorf("ended with %v:\n%s", err, out)
	}
}

// testWaitEnds: what is waited for may be replaced, or go.
func testWaitEnds(t *testing.T, w world) {
	w.must(t, "install", hang(t), "--wait")
	follow := func(then func()) error {
		return w.run(t.Context(), &seen{text: "hang/main/only [IN_PROGRESS]", then: then}, "plan", "trigger", "hang", "hang", "--wait", "--timeout", "0")
	}
	again := func() {
		if _, err := w.kudo(t.Context(), "plan", "trigger", "hang", "hang"); err != nil {
			t.Error(err)
		}
	}
	if err := follow(again); err == nil || err.Error() != "plan 'hang' was replaced by another run, of plan 'hang'" {
		t.Errorf("replaced: %v", err)
	}
	if _, err := w.kudo(t.Context(), "uninstall", "hang", "--wait", "--timeout", "1s"); err == nil || err.Error() != "after 1s: instance hang is not gone yet" {
		t.Errorf("uninstall: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.kudo(ctx, "uninstall", "hang", "--wait"); err == nil {
		t.Error("an interrupted command succeeded")
	}
	// Without its finalizer it goes at once, whoever waits for its plan.
	servertest.Eventually(t, "cleanup runs", func() bool { return w.instance(t, "hang").RunningPlan() == "cleanup" })
	free := func() {
		if err := w.patch(t.Context(), "hang", `{"metadata":{"finalizers":null}}`); err != nil {
			t.Error(err)
		}
	}
	err := w.run(t.Context(), &seen{text: "IN_PROGRESS", then: free}, "plan", "status", "hang", "--wait", "--timeout", "0")
	if err == nil || err.Error() != "instance hang was deleted while plan 'cleanup' ran" {
		t.Errorf("deleted: %v", err)
	}
	list, err := w.resource("instances").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("%v, %d instances", err, len(list.Items))
	}
}
