package parameters

import (
	"fmt"
	"slices"
)

// The plans with a special meaning.
const (
	DeployPlan  = "deploy"
	UpdatePlan  = "update"
	UpgradePlan = "upgrade"
	CleanupPlan = "cleanup"
)

func (v *Version) has(plan string) bool { return slices.Contains(v.Plans, plan) }

// first returns the first of the plans that the version has, the last if it has none.
func (v *Version) first(plans ...string) string {
	for _, plan := range plans {
		if v.has(plan) {
			return plan
		}
	}
	return plans[len(plans)-1]
}

// installPlan sets the plan of an installation.
func (d *decider) installPlan() {
	d.Decision.Plan = DeployPlan
	d.requirePlan("")
}

// upgradePlan sets the plan of an upgrade, with or without changed parameters.
func (d *decider) upgradePlan() {
	d.Decision.Plan = d.to.first(UpgradePlan, UpdatePlan, DeployPlan)
	d.requirePlan("")
	if d.Running != "" {
		d.refuseRunning()
	}
}

// updatePlan sets the plan of an update: the one that the request names, or the one that
// the changed parameters trigger. It refuses a request that needs two plans.
func (d *decider) updatePlan() {
	d.Decision.Plan = d.Request.Plan
	cause := fmt.Sprintf("the request asks for plan '%s'", d.Decision.Plan)
	if d.Decision.Plan != "" {
		d.requirePlan("")
	}
	// A refused request triggers no plan.
	refused := len(d.Refusals) > 0
	for _, row := range d.Rows {
		if !row.Changed || refused {
			continue
		}
		plan := d.to.definition(row.Name).Trigger
		if plan == "" {
			plan = d.to.first(UpdatePlan, DeployPlan)
		}
		triggers := fmt.Sprintf("parameter '%s' triggers plan '%s'", row.Name, plan)
		switch d.Decision.Plan {
		case "":
			d.Decision.Plan, cause = plan, triggers
			d.requirePlan(row.Name)
		case plan:
		default:
			d.refuse(row.Name, "one update runs one plan, but %s and %s", cause, triggers)
		}
	}
	if d.Running != "" && d.Decision.Plan != "" && d.Decision.Plan != d.Running {
		d.refuseRunning()
	}
}

// requirePlan refuses a plan that the version does not have.
func (d *decider) requirePlan(parameter string) {
	if !d.to.has(d.Decision.Plan) {
		d.refuse(parameter, "operator version %s has no plan '%s'%s", d.to.Name, d.Decision.Plan,
			Suggestion(d.Decision.Plan, d.to.Plans))
	}
}

// refuseRunning refuses the request until the running plan has ended.
func (d *decider) refuseRunning() {
	d.add(Refusal{
		Message:  fmt.Sprintf("plan '%s' is running: wait until it has ended", d.Running),
		Rule:     "a plan is running: wait until it has ended",
		Conflict: true,
	})
}
