package plan

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/operator/api"
)

// Outcome is what came of doing a step.
type Outcome struct {
	state   api.State
	message string
}

// Done is a step that is complete: applied, and ready where there is such a
// thing.
func Done() Outcome { return Outcome{state: api.Complete} }

// Waiting is a step that is done but for what others must do.
func Waiting(reason string) Outcome { return Outcome{state: api.InProgress, message: reason} }

// Failed is a step that may succeed when it is tried again.
func Failed(err error) Outcome { return Outcome{state: api.Error, message: err.Error()} }

// Fatal is a step that fails each time it is tried; the run ends with it.
func Fatal(err error) Outcome { return Outcome{state: api.FatalError, message: err.Error()} }

// Result is the outcome of a step.
type Result struct {
	Step    Step
	Outcome Outcome
}

// maxMessage is how much of a message is kept.
const maxMessage = 2048

// Report is the status after a step was done, or tried. A result for a step that
// there is not, or after the run has ended, changes nothing.
func Report(status api.PlanStatus, result Result, now metav1.Time) api.PlanStatus {
	status = *status.DeepCopy()
	phase := find(status.Phases, result.Step.Phase)
	if phase == nil || status.Status.Ended() {
		return status
	}
	message := result.Outcome.message
	if len(message) > maxMessage {
		message = message[:maxMessage] + "…"
	}
	for i := range phase.Steps {
		step := &phase.Steps[i]
		// What is complete stays so: a second worker may be late.
		if step.Name != result.Step.Name || step.Status == api.Complete {
			continue
		}
		if step.Status != result.Outcome.state || step.Message != message {
			step.Status, step.Message = result.Outcome.state, message
			status.LastUpdatedTimestamp = &now
		}
	}
	summarize(&status)
	return status
}

// summarize makes phases say what their steps do, and the plan what its phases
// do.
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

// summary is the worst that some states say, or how far they are.
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
