package plan

import "holdfast.dev/holdfast/operator/api"

// Step is one to be done.
type Step struct {
	Phase, Name string
	// Tasks of the step, to be done in this order.
	Tasks []string
}

// Next are the steps that may be done now, side by side; none when the run has
// ended. status is one that Resume or Report returned for this definition.
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
