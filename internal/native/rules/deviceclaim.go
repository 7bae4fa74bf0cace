package rules

import (
	"context"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/operation"
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
		if !slices.Contains(names, reference) {
			r.invalid(reference, "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'", i)
		}
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
			for i, selector := range d.Exactly.Selectors {
				r.under(func() { deviceSelector(r, selector) }, "selectors", i)
			}
			deviceCount(r, d.Exactly.AllocationMode, d.Exactly.Count)
		}, "exactly")
	}
	for i, alternative := range d.FirstAvailable {
		r.under(func() {
			r.invalidAll(alternative.Name, validation.IsDNS1123Label(alternative.Name), "name")
			for j, selector := range alternative.Selectors {
				r.under(func() { deviceSelector(r, selector) }, "selectors", j)
			}
			deviceCount(r, alternative.AllocationMode, alternative.Count)
		}, "firstAvailable", i)
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

// claimStatus checks the status of a claim: its users, and that the allocation does not change.
func claimStatus(r *report, c *resourcev1.ResourceClaim) {
	old, ok := r.old.(*resourcev1.ResourceClaim)
	if !ok {
		return
	}
	op := operation.Operation{Type: operation.Update, Options: generatedOptions}
	r.add(resourcev1.Validate_ResourceClaimStatus(context.Background(), op, r.path("status"), &c.Status, &old.Status))
	if len(c.Status.ReservedFor) == 0 {
		return
	}
	if c.Status.Allocation == nil {
		r.forbidden("may not be specified when `allocated` is not set", "status", "reservedFor")
		return
	}
	added := slices.ContainsFunc(c.Status.ReservedFor, func(consumer resourcev1.ResourceClaimConsumerReference) bool {
		return !slices.Contains(old.Status.ReservedFor, consumer)
	})
	if c.DeletionTimestamp != nil && added {
		r.forbidden("new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set", "status", "reservedFor")
	}
}
