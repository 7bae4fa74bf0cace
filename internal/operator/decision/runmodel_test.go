package decision_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/decision"
	"holdfast.dev/holdfast/internal/operator/plan"
	"holdfast.dev/holdfast/internal/reconcile"
	"holdfast.dev/holdfast/internal/simulation"
)

// runStore has one Instance, whose writes package decision admits. It keeps what it needs to judge the controller.
type runStore struct {
	mu       sync.Mutex
	world    *simulation.World
	version  *api.OperatorVersion
	instance *api.Instance
	runs     int
	revision int
	// enqueue is called when the spec has changed.
	enqueue func()
	// complete are the steps of each run that were stored as complete, as PHASE.STEP.
	complete map[types.UID]map[string]bool
	// late counts the steps of each run that were executed after another run had begun, or a user had cancelled it.
	late map[types.UID]int
	// calm says that every step succeeds.
	calm  bool
	wrong error
}

func (s *runStore) fail(format string, args ...any) {
	if s.wrong == nil {
		s.wrong = fmt.Errorf(format, args...)
	}
}

// admit stores what a user or the controller writes, unless admission refuses it. The caller holds the lock.
func (s *runStore) admit(ctx context.Context, sent *api.Instance, by string) error {
	if sent.ResourceVersion != s.instance.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Resource: "instances"}, sent.Name, errors.New("another version"))
	}
	review := decision.Review{
		Old: s.instance.DeepCopy(), New: sent.DeepCopy(), Requester: users[by], Controller: users["server"].Username, Keys: keys,
		Version: func(string) (*api.OperatorVersion, error) { return s.version.DeepCopy(), nil },
		NewUID: func() types.UID {
			s.runs++
			return types.UID("run-" + strconv.Itoa(s.runs))
		},
	}
	result, err := review.Decide(ctx)
	if err != nil {
		return err
	}
	if result.Instance == nil {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "instances"}, sent.Name, fmt.Errorf("%v", result.Decision.Refusals))
	}
	before := s.instance
	s.put(result.Instance)
	if was, is := before.Spec.Parameters["TOKENS"], s.instance.Spec.Parameters["TOKENS"]; was != is {
		s.fail("the immutable parameter TOKENS was changed from %q to %q", was, is)
	}
	if before.Spec.PlanExecution != s.instance.Spec.PlanExecution {
		s.checkRun(before)
	}
	s.enqueue()
	return nil
}

// checkRun judges a change of the running plan.
func (s *runStore) checkRun(before *api.Instance) {
	running, now := before.RunningPlan(), s.instance.Spec.PlanExecution
	cancelled := now.PlanName == "" && now.Status == api.FatalError
	failed := before.Status.PlanStatus[running].Status == api.Error
	switch {
	case running == "" || now.PlanName == running || cancelled || failed && now.PlanName != "":
	default:
		s.fail("plan %s was running, and became %+v", running, now)
	}
}

func (s *runStore) put(instance *api.Instance) {
	s.revision++
	s.instance = instance.DeepCopy()
	s.instance.ResourceVersion = strconv.Itoa(s.revision)
}

// storeStatus stores the status of a plan, as the controller does.
func (s *runStore) storeStatus(ctx context.Context, read *api.Instance, status api.PlanStatus) (stored *api.Instance, err error) {
	err = s.request(ctx, "stores the status "+string(status.Status)+" of "+status.Name, func() error {
		if read.ResourceVersion != s.instance.ResourceVersion {
			return apierrors.NewConflict(schema.GroupResource{Resource: "instances"}, read.Name, errors.New("another version"))
		}
		before := s.instance.Status.PlanStatus[status.Name]
		if before.UID == status.UID && before.Status.Ended() && before.Status != status.Status {
			s.fail("run %s of plan %s has ended as %s, and becomes %s", before.UID, status.Name, before.Status, status.Status)
		}
		changed := s.instance.DeepCopy()
		changed.Status.PlanStatus = plan.AllStatuses(s.version.Spec.Plans, changed.Status.PlanStatus)
		changed.Status.PlanStatus[status.Name] = status
		s.put(changed)
		s.note(status)
		stored = s.instance.DeepCopy()
		return nil
	})
	return stored, err
}

// note remembers the steps that are complete. Such a step of a run stays complete.
func (s *runStore) note(status api.PlanStatus) {
	known := s.complete[status.UID]
	if known == nil {
		known = map[string]bool{}
		s.complete[status.UID] = known
	}
	now := map[string]bool{}
	for _, phase := range status.Phases {
		for _, step := range phase.Steps {
			if step.Status == api.Complete {
				now[phase.Name+"."+step.Name] = true
			}
		}
	}
	for name := range known {
		if !now[name] {
			s.fail("step %s of run %s was complete, and is not any more", name, status.UID)
		}
	}
	for name := range now {
		known[name] = true
	}
}

// request waits for the scheduler. A request may fail, or its answer may be lost.
func (s *runStore) request(ctx context.Context, what string, do func() error) error {
	random, err := s.world.Wait(ctx, what)
	if err != nil {
		return err
	}
	fate := 100
	if random != nil {
		fate = random.IntN(100)
	}
	if fate < 4 {
		return apierrors.NewServerTimeout(schema.GroupResource{Resource: "instances"}, "request", 1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := do(); err != nil || fate >= 8 {
		return err
	}
	return apierrors.NewTimeoutError("the answer is lost", 1)
}

// execute executes a step of a run, and returns its outcome.
func (s *runStore) execute(ctx context.Context, run api.PlanStatus, step plan.Step) (outcome plan.Outcome, err error) {
	name := step.Phase + "." + step.Name
	random, err := s.world.Wait(ctx, "executes "+name+" of "+string(run.UID))
	if err != nil {
		return outcome, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.complete[run.UID][name] {
		s.fail("step %s of run %s is executed again, although it is stored as complete", name, run.UID)
	}
	for _, earlier := range s.before(run.Name, step) {
		if !s.complete[run.UID][earlier] {
			s.fail("step %s of run %s is executed before %s is complete", name, run.UID, earlier)
		}
	}
	if s.instance.Spec.PlanExecution.UID != run.UID || s.instance.Spec.PlanExecution.PlanName == "" {
		// The controller notices that another run has begun when it stores the status of the step.
		if s.late[run.UID]++; s.late[run.UID] > 1 {
			s.fail("step %s is the second one of run %s that is executed after its end", name, run.UID)
		}
	}
	if s.calm || random == nil {
		return plan.Done(), nil
	}
	return chooseOutcome(random), nil
}

func chooseOutcome(r *rand.Rand) plan.Outcome {
	switch n := r.IntN(20); {
	case n < 12:
		return plan.Done()
	case n < 15:
		return plan.Waiting("pods are not ready")
	case n < 19:
		return plan.Failed(errors.New("no route"))
	}
	return plan.Fatal(errors.New("forbidden"))
}

// before returns the steps that must be complete before a step of a plan is executed.
func (s *runStore) before(planName string, step plan.Step) []string {
	definition := s.version.Spec.Plans[planName]
	var all []string
	for _, phase := range definition.Phases {
		for _, other := range phase.Steps {
			if phase.Name == step.Phase && other.Name == step.Name {
				return all
			}
			if phase.Name == step.Phase && phase.Strategy != api.Parallel || phase.Name != step.Phase && definition.Strategy != api.Parallel {
				all = append(all, phase.Name+"."+other.Name)
			}
		}
	}
	return all
}

// reconcile continues the plan of the Instance. It calls the functions of package plan in the order in which the controller does, whose own code
// needs a server.
func (s *runStore) reconcile(ctx context.Context, _ string) (reconcile.Result, error) {
	var instance *api.Instance
	if err := s.request(ctx, "reads the Instance", func() error {
		instance = s.instance.DeepCopy()
		return nil
	}); err != nil {
		return reconcile.Result{}, err
	}
	wanted := instance.Spec.PlanExecution
	if wanted.PlanName == "" {
		return reconcile.Result{}, s.endCancelled(ctx, instance)
	}
	status := instance.Status.PlanStatus[wanted.PlanName]
	if status.UID != wanted.UID || !status.Status.Ended() {
		var err error
		status = plan.Resume(s.version.Spec.Plans[wanted.PlanName], wanted, status, metav1.Now())
		if instance, err = s.storeStatus(ctx, instance, status); err != nil {
			return reconcile.Result{}, err
		}
		if instance, err = s.advance(ctx, instance, status); err != nil {
			return reconcile.Result{}, err
		}
	}
	instance.Spec.PlanExecution.PlanName = ""
	return reconcile.Result{}, s.request(ctx, "clears the name of the plan", func() error { return s.admit(ctx, instance, "server") })
}

// advance executes steps until the run has ended, or no step makes progress.
func (s *runStore) advance(ctx context.Context, instance *api.Instance, status api.PlanStatus) (*api.Instance, error) {
	for !status.Status.Ended() {
		advanced := false
		for _, step := range plan.Next(s.version.Spec.Plans[status.Name], status) {
			outcome, err := s.execute(ctx, status, step)
			if err != nil {
				return nil, err
			}
			status = plan.Report(status, plan.Result{Step: step, Outcome: outcome}, metav1.Now())
			if instance, err = s.storeStatus(ctx, instance, status); err != nil {
				return nil, err
			}
			if status.Status.Ended() {
				return instance, nil
			}
			advanced = advanced || outcome == plan.Done()
		}
		if !advanced {
			return nil, reconcile.ErrNotYet
		}
	}
	return instance, nil
}

// endCancelled stores that the plan of an Instance was cancelled.
func (s *runStore) endCancelled(ctx context.Context, instance *api.Instance) error {
	run := instance.Spec.PlanExecution
	if run.Status != api.FatalError {
		return nil
	}
	for _, status := range instance.Status.PlanStatus {
		if status.Status.Running() && status.UID == run.UID {
			_, err := s.storeStatus(ctx, instance, plan.Cancel(status, "the plan was cancelled", metav1.Now()))
			return err
		}
	}
	return nil
}
