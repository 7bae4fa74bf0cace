package rules

import (
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// deviceClaim checks the requests of a claim, and that constraints and configuration name requests.
func deviceClaim(r *report, c *resourcev1.DeviceClaim) {
	names := requestNames(c)
	for i := range c.Requests {
		r.under(func() { deviceRequest(r, &c.Requests[i]) }, "requests", i)
	}
	for i, constraint := range c.Constraints {
		r.under(func() { requestReferences(r, names, constraint.Requests) }, "constraints", i, "requests")
		if constraint.MatchAttribute == nil && constraint.DistinctAttribute == nil {
			r.required(`exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`, "constraints", i)
		}
	}
	for i, config := range c.Config {
		r.under(func() { requestReferences(r, names, config.Requests) }, "config", i, "requests")
		r.under(func() { deviceConfiguration(r, config.DeviceConfiguration) }, "config", i)
	}
}

// requestNames returns the names of the requests of a claim, and of their alternatives as REQUEST/ALTERNATIVE.
func requestNames(c *resourcev1.DeviceClaim) []string {
	var names []string
	for _, request := range c.Requests {
		names = append(names, request.Name)
		for _, alternative := range request.FirstAvailable {
			names = append(names, request.Name+"/"+alternative.Name)
		}
	}
	return names
}

func requestReferences(r *report, names, references []string) {
	for i, reference := range references {
		r.under(func() { requestReference(r, names, reference) }, i)
	}
}

func requestReference(r *report, names []string, reference string) {
	segments := strings.Split(reference, "/")
	for _, segment := range segments {
		if len(segments) <= 2 {
			r.invalidAll(segment, validation.IsDNS1123Label(segment))
		}
	}
	if !slices.Contains(names, reference) {
		r.invalid(reference, "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'")
	}
}

func deviceRequest(r *report, d *resourcev1.DeviceRequest) {
	r.invalidAll(d.Name, validation.IsDNS1123Label(d.Name), "name")
	switch {
	case d.Exactly == nil && len(d.FirstAvailable) == 0:
		r.required("exactly one of `exactly` or `firstAvailable` is required")
	case d.Exactly != nil && len(d.FirstAvailable) > 0:
		r.invalid(nil, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set")
	case d.Exactly != nil:
		r.under(func() {
			requiredName(r, d.Exactly.DeviceClassName, validation.IsDNS1123Subdomain, "deviceClassName")
			for i, selector := range d.Exactly.Selectors {
				r.under(func() { deviceSelector(r, selector) }, "selectors", i)
			}
			deviceCount(r, d.Exactly.AllocationMode, d.Exactly.Count)
			r.under(func() { deviceTolerations(r, d.Exactly.Tolerations) }, "tolerations")
		}, "exactly")
	default:
		for i := range d.FirstAvailable {
			r.under(func() { deviceAlternative(r, &d.FirstAvailable[i]) }, "firstAvailable", i)
		}
	}
}

func deviceAlternative(r *report, d *resourcev1.DeviceSubRequest) {
	r.invalidAll(d.Name, validation.IsDNS1123Label(d.Name), "name")
	for i, selector := range d.Selectors {
		r.under(func() { deviceSelector(r, selector) }, "selectors", i)
	}
	deviceCount(r, d.AllocationMode, d.Count)
	r.under(func() { deviceTolerations(r, d.Tolerations) }, "tolerations")
}

// deviceTolerations checks the values of tolerations. The generated functions check the other fields.
func deviceTolerations(r *report, tolerations []resourcev1.DeviceToleration) {
	for i, t := range tolerations {
		switch {
		case t.Operator == resourcev1.DeviceTolerationOpEqual:
			r.invalidAll(t.Value, validation.IsValidLabelValue(t.Value), i, "value")
		case t.Operator == resourcev1.DeviceTolerationOpExists && t.Value != "":
			r.invalid(t.Value, "must be empty for operator `Exists`", i, "value")
		}
	}
}

func deviceCount(r *report, mode resourcev1.DeviceAllocationMode, count int64) {
	switch {
	case mode == resourcev1.DeviceAllocationModeAll && count != 0:
		r.invalid(count, "must not be specified when allocationMode is 'All'", "count")
	case mode == resourcev1.DeviceAllocationModeExactCount && count <= 0:
		r.invalid(count, "must be greater than zero", "count")
	}
}
