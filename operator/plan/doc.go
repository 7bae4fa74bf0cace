// Package plan is the state machine of a plan: phases of steps, one after the
// other or side by side, and how far each is.
//
//	status := plan.Resume(definition, execution, instance.Status.PlanStatus[name], now)
//	for _, step := range plan.Next(definition, status) {
//		outcome := do(step)
//		status = plan.Report(status, plan.Result{Step: step, Outcome: outcome}, now)
//	}
//
// All that is known of a run is in its status, which is stored after every
// Report. Whoever does the steps may die between any two lines: Resume and Next
// then name the step that was being done once more, so that doing a step twice
// must end where doing it once does. Functions change nothing that they are given.
package plan
