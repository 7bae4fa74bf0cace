// Package plan is the state machine of a run of a plan. A plan consists of phases, and a
// phase of steps. The phases of a plan, and the steps of a phase, run one after the other
// or in parallel.
//
//	status := plan.Resume(definition, execution, instance.Status.PlanStatus[name], now)
//	for _, step := range plan.Next(definition, status) {
//		outcome := execute(step)
//		status = plan.Report(status, plan.Result{Step: step, Outcome: outcome}, now)
//	}
//
// The api.PlanStatus holds the whole state of a run; the caller stores it after every
// Report. The caller may be killed at any time. Resume and Next then return the
// unfinished step again, so executing a step must be idempotent. The functions are
// pure: they do not modify their arguments.
package plan
