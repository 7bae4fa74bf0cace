package rules

import (
	"context"
	"reflect"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// claimStatus checks the status of a claim: its allocation, which cannot change, its users, and what drivers report.
func claimStatus(r *report, c *resourcev1.ResourceClaim) {
	old, ok := r.old.(*resourcev1.ResourceClaim)
	if !ok {
		return
	}
	op := operation.Operation{Type: operation.Update, Options: generatedOptions}
	r.add(resourcev1.Validate_ResourceClaimStatus(context.Background(), op, r.path("status"), &c.Status, &old.Status))
	r.under(func() {
		for i, consumer := range c.Status.ReservedFor {
			r.under(func() { claimConsumer(r, consumer) }, "reservedFor", i)
		}
		for i := range c.Status.Devices {
			r.under(func() { deviceStatus(r, &c.Status.Devices[i], c.Status.Allocation) }, "devices", i)
		}
		if c.Status.Allocation != nil && old.Status.Allocation == nil {
			r.under(func() { allocation(r, c.Status.Allocation, requestNames(&c.Spec.Devices)) }, "allocation")
		}
	}, "status")
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

func claimConsumer(r *report, c resourcev1.ResourceClaimConsumerReference) {
	for _, part := range []struct{ field, value string }{{"resource", c.Resource}, {"name", c.Name}, {"uid", string(c.UID)}} {
		if part.value == "" {
			r.required("", part.field)
		}
	}
}

// allocation checks a new allocation. The generated functions check most fields of its devices.
func allocation(r *report, a *resourcev1.AllocationResult, names []string) {
	for i := range a.Devices.Results {
		result := &a.Devices.Results[i]
		r.under(func() {
			r.under(func() { requestReference(r, names, result.Request) }, "request")
			r.invalidAll(result.Device, validation.IsDNS1123Label(result.Device), "device")
			bindingConditions(r, result.BindingConditions, result.BindingFailureConditions)
		}, "devices", "results", i)
	}
	for i, config := range a.Devices.Config {
		r.under(func() {
			r.under(func() { requestReferences(r, names, config.Requests) }, "requests")
			deviceConfiguration(r, config.DeviceConfiguration)
		}, "devices", "config", i)
	}
	if a.NodeSelector != nil {
		selector := reflect.ValueOf(a.NodeSelector)
		r.under(func() { r.walk(writeRules().lockedNode(selector.Type()), selector.Elem()) }, "nodeSelector")
	}
}

// deviceStatus checks what a driver reports about a device, which must be allocated for the claim.
func deviceStatus(r *report, d *resourcev1.AllocatedDeviceStatus, a *resourcev1.AllocationResult) {
	driverName(r, d.Driver, "driver")
	poolName(r, d.Pool, "pool")
	r.invalidAll(d.Device, validation.IsDNS1123Label(d.Device), "device")
	isThis := func(result resourcev1.DeviceRequestAllocationResult) bool {
		return result.Driver == d.Driver && result.Pool == d.Pool && result.Device == d.Device &&
			reflect.DeepEqual(result.ShareID, (*types.UID)(d.ShareID))
	}
	if a == nil || !slices.ContainsFunc(a.Devices.Results, isThis) {
		r.invalid(d.Driver+"/"+d.Pool+"/"+d.Device, "must be an allocated device in the claim")
	}
	if most := resourcev1.AllocatedDeviceStatusMaxConditions; len(d.Conditions) > most {
		r.add(field.ErrorList{field.TooMany(r.path("conditions"), len(d.Conditions), most)})
	}
	if d.Data != nil && len(d.Data.Raw) > 0 {
		r.under(func() { rawObject(r, *d.Data) }, "data")
	}
	if d.NetworkData != nil {
		for i, address := range d.NetworkData.IPs {
			r.add(validation.IsValidInterfaceAddress(r.path("networkData", "ips", i), address))
		}
	}
}
