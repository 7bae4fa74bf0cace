package plan

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
)

// Resume returns the status with which a run starts or continues. If the execution has
// another UID than the stored status, the run is new and every step is pending. Otherwise
// Resume returns the stored status, with exactly the phases and steps that the definition
// has now.
func Resume(definition api.Plan, execution api.PlanExecution, status api.PlanStatus, now metav1.Time) api.PlanStatus {
	if status.UID != execution.UID {
		status = api.PlanStatus{UID: execution.UID, LastUpdatedTimestamp: &now}
	}
	status = *status.DeepCopy()
	status.Name = execution.PlanName
	phases := make([]api.PhaseStatus, len(definition.Phases))
	for i, phase := range definition.Phases {
		phases[i].Name = phase.Name
		known := find(status.Phases, phase.Name)
		for _, step := range phase.Steps {
			phases[i].Steps = append(phases[i].Steps, resumed(known, step.Name))
		}
	}
	status.Phases = phases
	summarize(&status)
	return status
}

// resumed returns the stored status of a step, or a pending one if the step has not
// run. The phase is nil if it is not in the stored status.
func resumed(phase *api.PhaseStatus, step string) api.StepStatus {
	if phase != nil {
		for _, known := range phase.Steps {
			if known.Name == step && known.Status != "" && known.Status != api.NeverRun {
				return known
			}
		}
	}
	return api.StepStatus{Name: step, Status: api.Pending}
}

func find(phases []api.PhaseStatus, name string) *api.PhaseStatus {
	for i := range phases {
		if phases[i].Name == name {
			return &phases[i]
		}
	}
	return nil
}

// AllStatuses returns a status for each of the plans: the known one if the plan has
// run, else one in state NeverRun. Statuses of other plans are dropped.
func AllStatuses(plans map[string]api.Plan, known map[string]api.PlanStatus) map[string]api.PlanStatus {
	all := make(map[string]api.PlanStatus, len(plans))
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		if status, ran := known[name]; ran && status.Status != "" {
			all[name] = *status.DeepCopy()
			continue
		}
		status := api.PlanStatus{Name: name, Status: api.NeverRun}
		for _, phase := range plans[name].Phases {
			phaseStatus := api.PhaseStatus{Name: phase.Name, Status: api.NeverRun}
			for _, step := range phase.Steps {
				phaseStatus.Steps = append(phaseStatus.Steps, api.StepStatus{Name: step.Name, Status: api.NeverRun})
			}
			status.Phases = append(status.Phases, phaseStatus)
		}
		all[name] = status
	}
	return all
}
