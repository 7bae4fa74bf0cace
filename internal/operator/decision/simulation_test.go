package decision_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/reconcile"
	"holdfast.dev/holdfast/internal/simulation"
)

// TestSoakPlans runs the plans of an Instance. By seed, a user changes parameters, runs plans by name, cancels them, and writes from an old copy;
// steps wait, fail and end the run; requests fail or lose their answer; and the controller is killed. A step that is stored as complete is
// not executed again in its run, steps keep their order, an ended run stays as it is, no immutable parameter changes, and at the end no plan is left
// running.
func TestSoakPlans(t *testing.T) {
	t.Parallel()
	simulation.Run(t, simulation.Config{
		New: newRuns, Steps: 300, Rounds: 40,
		Reached: []string{
			"user changes", "user runs", "user cancels", "user overwrites", "user remembers", "user fails", "controller reads", "controller executes",
			"controller stores", "controller clears", "controller starts", "clock passes",
		},
	})
}

// runs is the simulation of a user and a controller.
type runs struct {
	*runStore
	// copied is what the user has read some time ago.
	copied *api.Instance
	kill   func()
}

func newRuns(w *simulation.World, r *rand.Rand) simulation.System {
	s := &runs{runStore: &runStore{
		world: w, version: randomVersion(r), complete: map[types.UID]map[string]bool{}, late: map[types.UID]int{}, enqueue: func() {},
	}}
	s.instance = &api.Instance{}
	s.instance.Namespace, s.instance.Name, s.instance.UID = "shop", "tok", "instance"
	s.instance.Spec.OperatorVersion.Name = "tok"
	s.instance.Spec.Parameters = map[string]string{"TOKENS": "8"}
	s.put(s.instance)
	s.copied = s.instance
	s.start()
	return simulation.System{
		Actors: []simulation.Actor{
			{Name: "user", Weight: 3, Step: s.act},
			{Name: "controller", Weight: 14, Step: w.Proceed},
			simulation.Clock(3, 50*time.Millisecond, time.Second, 10*time.Second),
			{Name: "controller", Step: s.restart},
		},
		Check:   func() error { return s.wrong },
		Settled: s.settled,
		Rest:    time.Hour,
		Stop:    func() { s.kill() },
	}
}

// randomVersion returns an OperatorVersion with three plans.
func randomVersion(r *rand.Rand) *api.OperatorVersion {
	version := &api.OperatorVersion{}
	version.Name = "tok"
	version.Spec.Version, version.Spec.Plans = "0.1.0", map[string]api.Plan{}
	eight, one := "8", "1"
	version.Spec.Parameters = []api.Parameter{
		{Name: "TOKENS", Default: &eight, Immutable: new(true)}, {Name: "CPUS", Default: &one}, {Name: "SIZE", Default: &one, Trigger: "backup"},
	}
	strategies := []api.Strategy{api.Serial, api.Parallel, ""}
	for _, name := range []string{"deploy", "update", "backup"} {
		p := api.Plan{Strategy: strategies[r.IntN(3)]}
		for i := range 1 + r.IntN(3) {
			phase := api.Phase{Name: fmt.Sprint("p", i), Strategy: strategies[r.IntN(3)]}
			for j := range 1 + r.IntN(3) {
				phase.Steps = append(phase.Steps, api.Step{Name: fmt.Sprint("s", j)})
			}
			p.Phases = append(p.Phases, phase)
		}
		version.Spec.Plans[name] = p
	}
	return version
}

// start starts the controller.
func (s *runs) start() {
	loop := reconcile.New(reconcile.Config[string]{
		Reconcile: s.reconcile, FirstRetry: 200 * time.Millisecond, LastRetry: 10 * time.Second, Log: func(context.Context, string, error) {},
	})
	s.enqueue = func() { loop.Add("tok") }
	loop.Add("tok")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		loop.Run(ctx)
	}()
	s.kill = func() {
		cancel()
		<-ended
	}
}

// restart kills the controller, and starts another one.
func (s *runs) restart(r *rand.Rand) string {
	if r.IntN(3) > 0 {
		return ""
	}
	s.kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start()
	return "starts again"
}

// act does one thing that a user does.
func (s *runs) act(r *rand.Rand) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	read := s.instance.DeepCopy()
	if r.IntN(4) == 0 {
		read = s.copied.DeepCopy()
	}
	what := ""
	switch r.IntN(8) {
	case 0, 1, 2:
		name := []string{"CPUS", "SIZE", "TOKENS"}[r.IntN(3)]
		value := fmt.Sprint(1 + r.IntN(9))
		read.Spec.Parameters[name] = value
		what = fmt.Sprintf("changes %s to %s", name, value)
	case 3, 4:
		read.Spec.PlanExecution = api.PlanExecution{PlanName: []string{"deploy", "update", "backup"}[r.IntN(3)]}
		what = "runs " + read.Spec.PlanExecution.PlanName
	case 5:
		read.Spec.PlanExecution = api.PlanExecution{UID: read.Spec.PlanExecution.UID, Status: api.FatalError}
		what = "cancels run " + string(read.Spec.PlanExecution.UID)
	case 6:
		read.Spec.PlanExecution = api.PlanExecution{}
		what = "overwrites the plan"
	default:
		s.copied = s.instance.DeepCopy()
		return "remembers the Instance"
	}
	if err := s.admit(context.Background(), read, "jane"); err != nil {
		return "fails when it " + what + ": " + err.Error()
	}
	return what
}

// settled returns what is wrong when the user writes no more, and every step succeeds.
func (s *runs) settled() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calm = true
	run := s.instance.Spec.PlanExecution
	switch {
	case s.wrong != nil:
		return s.wrong
	case run.PlanName != "":
		return fmt.Errorf("plan %s has not ended: %+v", run.PlanName, s.instance.Status.PlanStatus[run.PlanName])
	}
	for name, status := range s.instance.Status.PlanStatus {
		if status.Status.Running() && status.UID == run.UID {
			return fmt.Errorf("plan %s has the status %s, and no plan runs", name, status.Status)
		}
	}
	return nil
}
