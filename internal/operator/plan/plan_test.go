package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/plan"
	"holdfast.dev/holdfast/internal/yamltest"
)

func definition(t testing.TB, text string) api.Plan {
	t.Helper()
	p := *yamltest.Decode[api.Plan](t, text)
	return p
}

func at(second int64) metav1.Time { return metav1.NewTime(time.Unix(second, 0)) }

var outcomes = map[string]plan.Outcome{
	"done":    plan.Done(),
	"waiting": plan.Waiting("1 of 3 pods"),
	"failed":  plan.Failed(errors.New("no route")),
	"fatal":   plan.Fatal(errors.New("forbidden")),
}

// short formats a status as one line: the plan, then the phases with their steps, each
// followed by one character for its state.
func short(status api.PlanStatus) string {
	letter := map[api.State]string{
		api.Pending: ".", api.InProgress: "~", api.Error: "!", api.FatalError: "X", api.Complete: "+", api.NeverRun: "-",
	}
	line := letter[status.Status]
	for _, phase := range status.Phases {
		line += " " + phase.Name + letter[phase.Status] + "("
		for _, step := range phase.Steps {
			line += step.Name + letter[step.Status]
		}
		line += ")"
	}
	return line
}

func TestRuns(t *testing.T) {
	const (
		serial = `{strategy: serial, phases: [
			{name: P, strategy: serial, steps: [{name: a, tasks: [x]}, {name: b, tasks: [y]}]},
			{name: Q, steps: [{name: c}]}]}`
		parallel = `{strategy: parallel, phases: [
			{name: P, strategy: serial, steps: [{name: a}, {name: b}]},
			{name: Q, strategy: parallel, steps: [{name: c}, {name: d}]}]}`
	)
	tests := map[string]struct {
		plan string
		// ops are "phase.step outcome". want has one line for the start and one after
		// each operation: the steps that Next returns, then the status.
		ops, want []string
	}{
		"serial": {
			plan: serial,
			ops:  []string{"P.a waiting", "P.a done", "P.b failed", "P.b done", "Q.c done"},
			want: []string{
				"P.a| . P.(a.b.) Q.(c.)", "P.a| ~ P~(a~b.) Q.(c.)", "P.b| ~ P~(a+b.) Q.(c.)",
				"P.b| ! P!(a+b!) Q.(c.)", "Q.c| ~ P+(a+b+) Q.(c.)", "| + P+(a+b+) Q+(c+)",
			},
		},
		"parallel": {
			plan: parallel,
			ops:  []string{"Q.d done", "P.a done", "Q.c done", "P.b done"},
			want: []string{
				"P.a,Q.c,Q.d| . P.(a.b.) Q.(c.d.)", "P.a,Q.c| ~ P.(a.b.) Q~(c.d+)", "P.b,Q.c| ~ P~(a+b.) Q~(c.d+)",
				"P.b| ~ P~(a+b.) Q+(c+d+)", "| + P+(a+b+) Q+(c+d+)",
			},
		},
		"fatal ends the run, and later results have no effect": {
			plan: parallel,
			ops:  []string{"Q.c fatal", "P.a done"},
			want: []string{"P.a,Q.c,Q.d| . P.(a.b.) Q.(c.d.)", "| X P.(a.b.) QX(cXd.)", "| X P.(a.b.) QX(cXd.)"},
		},
		"a complete step stays complete, unknown steps have no effect": {
			plan: serial,
			ops:  []string{"P.a done", "P.a failed", "P.gone done", "R.a done"},
			want: []string{
				"P.a| . P.(a.b.) Q.(c.)", "P.b| ~ P~(a+b.) Q.(c.)", "P.b| ~ P~(a+b.) Q.(c.)",
				"P.b| ~ P~(a+b.) Q.(c.)", "P.b| ~ P~(a+b.) Q.(c.)",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := definition(t, test.plan)
			execution := api.PlanExecution{PlanName: "deploy", UID: "1"}
			status := plan.Resume(d, execution, api.PlanStatus{}, at(0))
			line := func() string {
				var names []string
				for _, step := range plan.Next(d, status) {
					names = append(names, step.Phase+"."+step.Name)
				}
				return strings.Join(names, ",") + "| " + short(status)
			}
			got := []string{line()}
			for i, op := range test.ops {
				path, outcome, _ := strings.Cut(op, " ")
				phase, step, _ := strings.Cut(path, ".")
				status = plan.Report(status, plan.Result{Step: plan.Step{Phase: phase, Name: step}, Outcome: outcomes[outcome]}, at(int64(i)))
				// A process that starts after a crash resumes with the same status.
				resumed := plan.Resume(d, execution, status, at(99))
				if diff := cmp.Diff(status, resumed); diff != "" {
					t.Errorf("resumed after %s (-want +got):\n%s", op, diff)
				}
				got = append(got, line())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("run (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessagesAndTimes(t *testing.T) {
	d := definition(t, `{phases: [{name: P, steps: [{name: a, tasks: [x, z]}]}]}`)
	status := plan.Resume(d, api.PlanExecution{PlanName: "deploy", UID: "1"}, api.PlanStatus{}, at(1))
	next := plan.Next(d, status)
	if diff := cmp.Diff([]plan.Step{{Phase: "P", Name: "a", Tasks: []string{"x", "z"}}}, next); diff != "" {
		t.Errorf("next (-want +got):\n%s", diff)
	}
	failed := plan.Report(status, plan.Result{Step: next[0], Outcome: outcomes["failed"]}, at(2))
	if failed.Message != "P.a: no route" || failed.Phases[0].Message != "a: no route" || failed.Phases[0].Steps[0].Message != "no route" {
		t.Errorf("messages %q, %q, %q", failed.Message, failed.Phases[0].Message, failed.Phases[0].Steps[0].Message)
	}
	again := plan.Report(failed, plan.Result{Step: next[0], Outcome: outcomes["failed"]}, at(3))
	if !again.LastUpdatedTimestamp.Equal(new(at(2))) {
		t.Errorf("reporting the same outcome again set the timestamp %v", again.LastUpdatedTimestamp)
	}
	done := plan.Report(again, plan.Result{Step: next[0], Outcome: plan.Done()}, at(4))
	if done.Message != "" || done.Status != api.Complete || status.Status != api.Pending {
		t.Errorf("done: %q %s; the argument: %s", done.Message, done.Status, status.Status)
	}
	long := plan.Report(status, plan.Result{Step: next[0], Outcome: plan.Waiting(strings.Repeat("x", 1<<20))}, at(4))
	if len(long.Message) > 3000 {
		t.Errorf("a message of %d bytes", len(long.Message))
	}
}

func TestResumeAfterChanges(t *testing.T) {
	before := definition(t, `{phases: [{name: P, steps: [{name: a}, {name: b}]}, {name: Q, steps: [{name: c}]}]}`)
	status := plan.Resume(before, api.PlanExecution{PlanName: "deploy", UID: "1"}, api.PlanStatus{}, at(1))
	status = plan.Report(status, plan.Result{Step: plan.Step{Phase: "P", Name: "a"}, Outcome: plan.Done()}, at(2))

	restarted := plan.Resume(before, api.PlanExecution{PlanName: "deploy", UID: "2"}, status, at(3))
	if got := short(restarted); got != ". P.(a.b.) Q.(c.)" || restarted.UID != "2" {
		t.Errorf("restarted as %s: %s", restarted.UID, got)
	}
	after := definition(t, `{phases: [{name: Q, steps: [{name: d}]}, {name: P, steps: [{name: z}, {name: a}]}]}`)
	if got := short(plan.Resume(after, api.PlanExecution{PlanName: "deploy", UID: "1"}, status, at(3))); got != "~ Q.(d.) P~(z.a+)" {
		t.Errorf("another definition: %s", got)
	}
}

func TestAllStatuses(t *testing.T) {
	plans := map[string]api.Plan{
		"deploy": definition(t, `{phases: [{name: P, steps: [{name: a}]}]}`),
		"backup": definition(t, `{phases: [{name: P, steps: [{name: a}]}]}`),
	}
	known := map[string]api.PlanStatus{"deploy": {Name: "deploy", Status: api.Complete}, "gone": {Name: "gone", Status: api.Complete}}
	var got []string
	for name, status := range plan.AllStatuses(plans, known) {
		got = append(got, name+" "+short(status))
	}
	if len(got) != 2 || !strings.Contains(fmt.Sprint(got), "deploy +") || !strings.Contains(fmt.Sprint(got), "backup - P-(a-)") {
		t.Errorf("got %v", got)
	}
}

// FuzzRun executes the steps of a random plan with random outcomes and loses some of
// the stored statuses, as a crash would. No step of a serial phase may start before the
// steps in front of it are complete. When the input is used up every outcome is Done,
// so the run must end.
func FuzzRun(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte("\x01\x02\x01\x02\x00\x00\x02\x02\x01\x01\x00\x03\x00"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		choose := func(limit int) int {
			if len(choices) == 0 {
				return 0
			}
			choice := int(choices[0]) % limit
			choices = choices[1:]
			return choice
		}
		strategies := []api.Strategy{api.Serial, api.Parallel, ""}
		d := api.Plan{Strategy: strategies[choose(3)]}
		for i := range 1 + choose(3) {
			phase := api.Phase{Name: fmt.Sprint("p", i), Strategy: strategies[choose(3)]}
			for j := range 1 + choose(3) {
				phase.Steps = append(phase.Steps, api.Step{Name: fmt.Sprint("s", j)})
			}
			d.Phases = append(d.Phases, phase)
		}
		execution := api.PlanExecution{PlanName: "deploy", UID: "1"}
		status := plan.Resume(d, execution, api.PlanStatus{}, at(0))
		all := []plan.Outcome{plan.Done(), plan.Waiting("w"), plan.Failed(errors.New("e")), plan.Fatal(errors.New("f"))}
		for range 1000 {
			next := plan.Next(d, status)
			if len(next) == 0 {
				if !status.Status.Ended() {
					t.Fatalf("no next step in %s", short(status))
				}
				return
			}
			for _, step := range next {
				inOrder(t, d, status, step)
			}
			step := next[choose(len(next))]
			after := plan.Report(status, plan.Result{Step: step, Outcome: all[choose(len(all))]}, at(1))
			if choose(4) == 1 {
				continue // As after a crash before the status was stored.
			}
			status = plan.Resume(d, execution, after, at(2))
		}
		t.Fatalf("the run does not end: %s", short(status))
	})
}

// inOrder fails the test if Next returns a step too early: before an earlier phase of a
// serial plan, or an earlier step of a serial phase, is complete.
func inOrder(t *testing.T, d api.Plan, status api.PlanStatus, step plan.Step) {
	t.Helper()
	for i, phase := range d.Phases {
		if phase.Name != step.Phase {
			if d.Strategy != api.Parallel && status.Phases[i].Status != api.Complete {
				t.Fatalf("%s.%s before phase %s in %s", step.Phase, step.Name, phase.Name, short(status))
			}
			continue
		}
		for j, other := range phase.Steps {
			if other.Name == step.Name {
				return
			}
			if phase.Strategy != api.Parallel && status.Phases[i].Steps[j].Status != api.Complete {
				t.Fatalf("%s.%s before step %s in %s", step.Phase, step.Name, other.Name, short(status))
			}
		}
	}
}

func TestReportAllAndCancel(t *testing.T) {
	p := definition(t, `{phases: [{name: P, steps: [{name: a}, {name: b}]}, {name: Q, steps: [{name: c}]}]}`)
	fresh := plan.Resume(p, api.PlanExecution{PlanName: "deploy", UID: "1"}, api.PlanStatus{}, at(1))
	result := func(phase, step, outcome string) plan.Result {
		return plan.Result{Step: plan.Step{Phase: phase, Name: step}, Outcome: outcomes[outcome]}
	}
	tests := map[string]struct {
		got  api.PlanStatus
		want string
	}{
		"several steps fail": {
			plan.ReportAll(fresh, []plan.Result{result("P", "b", "fatal"), result("Q", "c", "fatal")}, at(2)), "X PX(a.bX) QX(cX)",
		},
		"none fails":          {plan.ReportAll(fresh, nil, at(2)), ". P.(a.b.) Q.(c.)"},
		"cancelled at first":  {plan.Cancel(fresh, "no", at(2)), "X PX(aXb.) Q.(c.)"},
		"cancelled in a step": {plan.Cancel(plan.Report(fresh, result("P", "b", "waiting"), at(2)), "no", at(2)), "X PX(a.bX) Q.(c.)"},
		"cancelled at last":   {plan.Cancel(plan.Report(fresh, result("Q", "c", "failed"), at(2)), "no", at(2)), "X P.(a.b.) QX(cX)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := short(test.got); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
