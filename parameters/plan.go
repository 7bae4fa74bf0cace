package parameters

import (
	"fmt"
	"slices"
)

// The plans that have a meaning of their own.
const (
	DeployPlan  = "deploy"
	UpdatePlan  = "update"
	UpgradePlan = "upgrade"
	CleanupPlan = "cleanup"
)

func (v *Version) has(plan string) bool { return slices.Contains(v.Plans, plan) }

// first is the first of some plans that the version has, the last if none.
func (v *Version) first(plans ...string) string {
	for _, plan := range plans {
		if v.has(plan) {
			return plan
		}
	}
	return plans[len(plans)-1]
}

func (d *decider) installPlan() {
	d.Decision.Plan = DeployPlan
	d.served("")
}

// upgradePlan is also that of an upgrade that changes parameters.
func (d *decider) upgradePlan() {
	d.Decision.Plan = d.to.first(UpgradePlan, UpdatePlan, DeployPlan)
	d.served("")
	if d.Running != "" {
		d.busy()
	}
}

// updatePlan is the one that all changed parameters trigger, and that was asked
// for by name.
func (d *decider) updatePlan() {
	d.Decision.Plan = d.Request.Plan
	cause := fmt.Sprintf("the request asks for plan '%s'", d.Decision.Plan)
	if d.Decision.Plan != "" {
		d.served("")
	}
	// What is refused triggers nothing.
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
			d.served(row.Name)
		case plan:
		default:
			d.refuse(row.Name, "one update runs one plan, but %s and %s", cause, triggers)
		}
	}
	if d.Running != "" && d.Decision.Plan != "" && d.Decision.Plan != d.Running {
		d.busy()
	}
}

// served refuses a plan that the version does not have.
func (d *decider) served(parameter string) {
	if !d.to.has(d.Decision.Plan) {
		d.refuse(parameter, "operator version %s has no plan '%s'", d.to.Name, d.Decision.Plan)
	}
}

func (d *decider) busy() {
	d.Refusals = append(d.Refusals, Refusal{
		Message:  fmt.Sprintf("plan '%s' is running: wait until it has ended", d.Running),
		Conflict: true,
	})
}
