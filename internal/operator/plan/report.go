package plan

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/value"
)

// Outcome is the result of executing a step: Done, Waiting, Failed or Fatal.
type Outcome struct {
	state   api.State
	message string
}

// Done is the outcome of a step that has completed all its tasks. The objects that it
// applied are ready, if their kinds have readiness.
func Done() Outcome { return Outcome{state: api.Complete} }

// Waiting is the outcome of a step that has applied its objects and waits for another
// controller, for example until pods are ready.
func Waiting(reason string) Outcome { return Outcome{state: api.InProgress, message: reason} }

// Failed is the outcome of a step that may succeed when it is retried.
func Failed(err error) Outcome { return Outcome{state: api.Error, message: err.Error()} }

// Fatal is the outcome of a step that cannot succeed. It ends the run.
func Fatal(err error) Outcome { return Outcome{state: api.FatalError, message: err.Error()} }

// Result is a step with its outcome.
type Result struct {
	Step    Step
	Outcome Outcome
}

// maxMessage is the length in bytes to which a message is cut.
const maxMessage = 2048

// Report returns the status of the run after a step was executed. A result for an
// unknown step has no effect. Neither has a result after the end of the run.
func Report(status api.PlanStatus, result Result, now metav1.Time) api.PlanStatus {
	if status.Status.Ended() {
		return *status.DeepCopy()
	}
	return ReportAll(status, []Result{result}, now)
}

// ReportAll returns the status of the run after several steps. It is for steps that are known
// to fail before the run begins, and reports all of them although the first one ends the run.
func ReportAll(status api.PlanStatus, results []Result, now metav1.Time) api.PlanStatus {
	status = *status.DeepCopy()
	for _, result := range results {
		report(&status, result, now)
	}
	if len(results) > 0 {
		summarize(&status)
	}
	return status
}

// Cancel returns the status of a run that a user cancelled. The steps that have begun are in
// state FatalError; if none has, the first step that has not ended is.
func Cancel(status api.PlanStatus, message string, now metav1.Time) api.PlanStatus {
	var begun, pending []Result
	for _, phase := range status.Phases {
		for _, step := range phase.Steps {
			result := Result{Step{Phase: phase.Name, Name: step.Name}, Outcome{api.FatalError, message}}
			switch step.Status {
			case api.InProgress, api.Error:
				begun = append(begun, result)
			case api.Pending:
				pending = append(pending, result)
			}
		}
	}
	if len(begun) == 0 && len(pending) > 0 {
		begun = pending[:1]
	}
	status = ReportAll(status, begun, now)
	status.Status, status.Message = api.FatalError, message
	return status
}

// report stores the outcome of one step.
func report(status *api.PlanStatus, result Result, now metav1.Time) {
	phase := find(status.Phases, result.Step.Phase)
	if phase == nil {
		return
	}
	message := value.CutBytes(result.Outcome.message, maxMessage)
	for i := range phase.Steps {
		step := &phase.Steps[i]
		// A complete step stays complete, even if a second worker reports it later with
		// another outcome.
		if step.Name != result.Step.Name || step.Status == api.Complete {
			continue
		}
		if step.Status != result.Outcome.state || step.Message != message {
			step.Status, step.Message = result.Outcome.state, message
			status.LastUpdatedTimestamp = &now
		}
	}
}

// summarize derives state and message of each phase from its steps, and those of the
// plan from its phases.
func summarize(status *api.PlanStatus) {
	var phases []api.State
	status.Message = ""
	for i := range status.Phases {
		phase := &status.Phases[i]
		var steps []api.State
		phase.Message = ""
		for _, step := range phase.Steps {
			steps = append(steps, step.Status)
			if step.Message != "" && phase.Message == "" {
				phase.Message = fmt.Sprintf("%s: %s", step.Name, step.Message)
			}
		}
		phase.Status = summary(steps)
		phases = append(phases, phase.Status)
		if phase.Message != "" && status.Message == "" {
			status.Message = fmt.Sprintf("%s.%s", phase.Name, phase.Message)
		}
	}
	status.Status = summary(phases)
}

// summary combines states: an error if there is one (FatalError before Error), else
// Complete or Pending if all are, else InProgress.
func summary(states []api.State) api.State {
	count := map[api.State]int{}
	for _, state := range states {
		count[state]++
	}
	switch {
	case count[api.FatalError] > 0:
		return api.FatalError
	case count[api.Error] > 0:
		return api.Error
	case count[api.Complete] == len(states):
		return api.Complete
	case count[api.Pending] == len(states):
		return api.Pending
	}
	return api.InProgress
}
