package decision

import (
	"fmt"
	"maps"
	"slices"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/parameters"
)

// takeOver adds to a decision what taking over values means for it: the names must be
// parameters, and a plan that has failed runs again.
func (r Review) takeOver(decision parameters.Decision, version *api.OperatorVersion) (parameters.Decision, error) {
	names, err := api.TakenOver(r.New)
	if err != nil || len(names) == 0 {
		return decision, err
	}
	defined := map[string]bool{}
	for _, parameter := range version.Spec.Parameters {
		defined[parameter.Name] = true
	}
	for _, name := range names {
		if !defined[name] {
			decision.Refusals = append(decision.Refusals, parameters.Refusal{
				Parameter: name,
				Message: fmt.Sprintf("parameter '%s' cannot be taken over: operator version %s has no such parameter%s", name, version.Name,
					parameters.Suggestion(name, slices.Sorted(maps.Keys(defined)))),
				Rule: fmt.Sprintf("parameter '%s' cannot be taken over: there is no such parameter", name),
			})
			decision.Values = nil
		}
	}
	if decision.Accepted() && decision.Plan == "" {
		decision.Plan = r.failedPlan(version)
	}
	return decision, nil
}

// failedPlan returns the plan of the last run if that run ended with FatalError, else "". The
// run may succeed with other authors.
func (r Review) failedPlan(version *api.OperatorVersion) string {
	if r.Old == nil || version == nil || r.New.DeletionTimestamp != nil || r.Old.RunningPlan() != "" {
		return ""
	}
	for name := range version.Spec.Plans {
		status := r.Old.Status.PlanStatus[name]
		if name != parameters.CleanupPlan && status.Status == api.FatalError && status.UID == r.Old.Spec.PlanExecution.UID {
			return name
		}
	}
	return ""
}
