package columns

import (
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
)

// nameAndAge is the table of kinds whose objects have nothing else to show.
var nameAndAge = table(name, age)

var resourceClaims = table(name,
	text("State", "A summary of the current state (allocated, pending, reserved, etc.).", claimState), age)

func claimState(c *resourcev1.ResourceClaim) string {
	var states []string
	if c.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	switch {
	case c.Status.Allocation != nil:
		states = append(states, "allocated")
		if len(c.Status.ReservedFor) > 0 {
			states = append(states, "reserved")
		}
	case c.DeletionTimestamp == nil:
		states = append(states, "pending")
	}
	return strings.Join(states, ",")
}

var sliceDoc = resourcev1.ResourceSliceSpec{}.SwaggerDoc()

var resourceSlices = table(name,
	text("Node", sliceDoc["nodeName"], func(s *resourcev1.ResourceSlice) string { return valueOr(s.Spec.NodeName, "") }),
	text("Driver", sliceDoc["driver"], func(s *resourcev1.ResourceSlice) string { return s.Spec.Driver }),
	text("Pool", resourcev1.ResourcePool{}.SwaggerDoc()["name"], func(s *resourcev1.ResourceSlice) string { return s.Spec.Pool.Name }),
	age)

var taintDoc = resourcev1.DeviceTaint{}.SwaggerDoc()

var deviceTaintRules = table(name,
	text("Key", taintDoc["key"], func(r *resourcev1.DeviceTaintRule) string { return r.Spec.Taint.Key }),
	text("Value", taintDoc["value"], func(r *resourcev1.DeviceTaintRule) string { return r.Spec.Taint.Value }),
	text("Effect", taintDoc["effect"], func(r *resourcev1.DeviceTaintRule) string { return string(r.Spec.Taint.Effect) }),
	timed("TimeAdded", taintDoc["timeAdded"], func(r *resourcev1.DeviceTaintRule, now time.Time) string {
		if r.Spec.Taint.TimeAdded == nil {
			return unknown
		}
		return ageOf(r.Spec.Taint.TimeAdded.Time, now)
	}),
	age)
