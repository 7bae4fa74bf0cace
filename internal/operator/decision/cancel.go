package decision

import "holdfast.dev/holdfast/api"

// cancels reports whether the write cancels the running plan. Such a write keeps the UID of the
// run, removes the name of the plan and sets the status to FatalError. The UID makes sure that
// it ends no run that has started since. A client that leaves the plan execution out cancels
// nothing.
func (r Review) cancels() bool {
	if r.Old == nil || r.Old.RunningPlan() == "" {
		return false
	}
	wanted := r.New.Spec.PlanExecution
	return wanted.PlanName == "" && wanted.Status == api.FatalError && wanted.UID == r.Old.Spec.PlanExecution.UID
}

// fails reports whether the running plan is in state Error. The controller retries such a plan,
// possibly for ever, so a user may run another plan by name instead.
func (r Review) fails() bool {
	running := r.Old.Spec.PlanExecution
	status := r.Old.Status.PlanStatus[running.PlanName]
	return status.Status == api.Error && (status.UID == running.UID || status.UID == "")
}
