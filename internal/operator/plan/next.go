package plan

import "holdfast.dev/holdfast/api"

// Step is a step that is to be executed.
type Step struct {
	// Phase is the name of the phase that the step belongs to.
	Phase string
	// Name is the name of the step.
	Name string
	// Tasks are the names of its tasks, in the order in which they run.
	Tasks []string
}

// Next returns the steps that may be executed now, in parallel if there are several.
// It returns none when the run has ended. The status must come from Resume or Report
// for the same definition.
func Next(definition api.Plan, status api.PlanStatus) []Step {
	if status.Status.Ended() {
		return nil
	}
	var steps []Step
	for i, phase := range definition.Phases {
		if status.Phases[i].Status == api.Complete {
			continue
		}
		for j, step := range phase.Steps {
			if status.Phases[i].Steps[j].Status == api.Complete {
				continue
			}
			steps = append(steps, Step{Phase: phase.Name, Name: step.Name, Tasks: step.Tasks})
			if phase.Strategy != api.Parallel {
				break
			}
		}
		if definition.Strategy != api.Parallel {
			break
		}
	}
	return steps
}
