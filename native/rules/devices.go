package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// deviceRules are the rules for resource.k8s.io. k8s.io/api has most of them as generated functions, which replace the rules
// of the schema here. The checks of this file are those that Kubernetes does not generate.
func deviceRules() []rule {
	return []rule{
		skip[resourcev1.DeviceClass]("spec"),
		skip[resourcev1.ResourceClaim]("spec"),
		skip[resourcev1.ResourceClaimTemplate]("spec"),
		skip[resourcev1.ResourceSlice]("spec"),
		skip[resourcev1.DeviceTaintRule]("spec"),
		onStruct(func(r *report, c *resourcev1.DeviceClass) {
			old, _ := r.old.(*resourcev1.DeviceClass)
			generated(r, resourcev1.Validate_DeviceClassSpec, &c.Spec,
				part(old, func(o *resourcev1.DeviceClass) *resourcev1.DeviceClassSpec { return &o.Spec }))
			r.under(func() { deviceClass(r, &c.Spec) }, "spec")
		}),
		onStruct(func(r *report, c *resourcev1.ResourceClaim) {
			if r.create { // package frozen refuses every change
				generated(r, resourcev1.Validate_ResourceClaimSpec, &c.Spec, nil)
				r.under(func() { deviceClaim(r, &c.Spec.Devices) }, "spec", "devices")
			}
		}),
		onStruct(func(r *report, t *resourcev1.ResourceClaimTemplate) {
			if r.create {
				generated(r, resourcev1.Validate_ResourceClaimTemplateSpec, &t.Spec, nil)
				r.under(func() { labelSet(r, t.Spec.Labels) }, "spec", "metadata", "labels")
				r.under(func() { deviceClaim(r, &t.Spec.Spec.Devices) }, "spec", "spec", "devices")
			}
		}),
		onStruct(func(r *report, s *resourcev1.ResourceSlice) {
			old, _ := r.old.(*resourcev1.ResourceSlice)
			generated(r, resourcev1.Validate_ResourceSliceSpec, &s.Spec,
				part(old, func(o *resourcev1.ResourceSlice) *resourcev1.ResourceSliceSpec { return &o.Spec }))
			r.under(func() { resourceSlice(r, &s.Spec) }, "spec")
		}),
		onStruct(func(r *report, t *resourcev1.DeviceTaintRule) {
			old, _ := r.old.(*resourcev1.DeviceTaintRule)
			generated(r, resourcev1.Validate_DeviceTaintRuleSpec, &t.Spec,
				part(old, func(o *resourcev1.DeviceTaintRule) *resourcev1.DeviceTaintRuleSpec { return &o.Spec }))
			r.under(func() { taintRule(r, &t.Spec) }, "spec")
		}),
	}
}

// generatedOptions are the options that the generated functions ask for. They are the feature gates of Kubernetes with their
// defaults.
var generatedOptions = map[string]bool{"DRAPartitionableDevicesType": false}

// generated runs a generated function on a spec. old is the stored spec, or nil.
func generated[T any](
	r *report, validate func(context.Context, operation.Operation, *field.Path, *T, *T) field.ErrorList, spec, old *T,
) {
	op := operation.Operation{Type: operation.Create, Options: generatedOptions}
	if old != nil {
		op.Type = operation.Update
	}
	r.add(validate(context.Background(), op, r.path("spec"), spec, old))
}

// part returns a part of an object, or nil if the object is nil.
func part[O, P any](object *O, of func(*O) *P) *P {
	if object == nil {
		return nil
	}
	return of(object)
}

func deviceClass(r *report, s *resourcev1.DeviceClassSpec) {
	for i, selector := range s.Selectors {
		r.under(func() { deviceSelector(r, selector) }, "selectors", i)
	}
	for i, config := range s.Config {
		r.under(func() { deviceConfiguration(r, config.DeviceConfiguration) }, "config", i)
	}
}

// deviceSelector checks the size of an expression. The scheduler compiles it.
func deviceSelector(r *report, s resourcev1.DeviceSelector) {
	switch {
	case s.CEL == nil:
		r.required("", "cel")
	case s.CEL.Expression == "":
		r.required("", "cel", "expression")
	case len(s.CEL.Expression) > resourcev1.CELSelectorExpressionMaxLength:
		r.add(field.ErrorList{field.TooLong(r.path("cel", "expression"), "", resourcev1.CELSelectorExpressionMaxLength)})
	}
}

// deviceConfiguration checks that the parameters of a driver are a JSON object.
func deviceConfiguration(r *report, c resourcev1.DeviceConfiguration) {
	if c.Opaque == nil {
		r.required("", "opaque")
		return
	}
	r.under(func() { rawObject(r, c.Opaque.Parameters) }, "opaque", "parameters")
}

func rawObject(r *report, raw runtime.RawExtension) {
	var value any
	switch err := json.Unmarshal(raw.Raw, &value); {
	case len(raw.Raw) == 0, err == nil && value == nil:
		r.required("")
	case len(raw.Raw) > resourcev1.OpaqueParametersMaxLength:
		r.add(field.ErrorList{field.TooLong(r.path(), "", resourcev1.OpaqueParametersMaxLength)})
	case err != nil:
		r.invalid("<value omitted>", fmt.Sprintf("error parsing data as JSON: %v", err))
	default:
		if _, ok := value.(map[string]any); !ok {
			r.invalid("<value omitted>", "must be a valid JSON object")
		}
	}
}

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

// resourceSlice checks the driver, the pool and the nodes of a slice.
func resourceSlice(r *report, s *resourcev1.ResourceSliceSpec) {
	if s.Driver == "" {
		r.required("", "driver")
	}
	r.under(func() { csiDriver(r, s.Driver) }, "driver")
	r.under(func() { devicePool(r, s.Pool) }, "pool")
	nodes := nodeSelection(r, s.NodeName, s.NodeSelector, s.AllNodes)
	if s.PerDeviceNodeSelection != nil {
		if *s.PerDeviceNodeSelection {
			nodes = append(nodes, "`perDeviceNodeSelection`")
		} else {
			r.invalid(false, "must be either unset or set to true", "perDeviceNodeSelection")
		}
	}
	const one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	switch len(nodes) {
	case 0:
		r.required(one)
	case 1:
	default:
		r.invalid("{"+strings.Join(nodes, ", ")+"}", one+", but multiple fields are set")
	}
	if s.SharedCounters != nil && s.Devices != nil {
		r.invalid("", "only one of `sharedCounters` or `devices` is allowed")
	}
	if len(s.Devices) > resourcev1.ResourceSliceMaxDevices {
		r.add(field.ErrorList{field.TooMany(r.path("devices"), len(s.Devices), resourcev1.ResourceSliceMaxDevices)})
	}
	seen := map[string]bool{}
	for i := range s.Devices {
		device := &s.Devices[i]
		if seen[device.Name] {
			r.duplicate(device.Name, "devices", i)
		}
		seen[device.Name] = true
		r.under(func() { sliceDevice(r, device, s.PerDeviceNodeSelection != nil && *s.PerDeviceNodeSelection) }, "devices", i)
	}
}

func devicePool(r *report, p resourcev1.ResourcePool) {
	switch {
	case p.Name == "":
		r.required("", "name")
	case len(p.Name) > resourcev1.PoolNameMaxLength:
		r.add(field.ErrorList{field.TooLong(r.path("name"), "", resourcev1.PoolNameMaxLength)})
	default:
		for segment := range strings.SplitSeq(p.Name, "/") {
			r.invalidAll(segment, validation.IsDNS1123Subdomain(segment), "name")
		}
	}
	if p.ResourceSliceCount <= 0 {
		r.invalid(p.ResourceSliceCount, "must be greater than zero", "resourceSliceCount")
	}
	if p.Generation < 0 {
		r.invalid(p.Generation, "must be greater than or equal to zero", "generation")
	}
}

// nodeSelection checks the three ways to name the nodes of a slice or device, and returns those that are used.
func nodeSelection(r *report, name *string, selector *corev1.NodeSelector, all *bool) []string {
	var used []string
	if name != nil {
		if *name == "" {
			r.invalid("", "must be either unset or set to a non-empty string", "nodeName")
		} else {
			used = append(used, "`nodeName`")
			r.invalidAll(*name, validation.IsDNS1123Subdomain(*name), "nodeName")
		}
	}
	if selector != nil {
		used = append(used, "`nodeSelector`")
		if len(selector.NodeSelectorTerms) != 1 {
			r.invalid(selector.NodeSelectorTerms, "must have exactly one node selector term", "nodeSelector", "nodeSelectorTerms")
		}
	}
	if all != nil {
		if *all {
			used = append(used, "`allNodes`")
		} else {
			r.invalid(false, "must be either unset or set to true", "allNodes")
		}
	}
	return used
}

func sliceDevice(r *report, d *resourcev1.Device, selectsNodes bool) {
	r.invalidAll(d.Name, validation.IsDNS1123Label(d.Name), "name")
	const most = resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice
	if n := len(d.Attributes) + len(d.Capacity); n > most {
		r.invalid(n, fmt.Sprintf("the total number of attributes and capacities must not exceed %d", most))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Capacity)) {
		if d.Capacity[name].RequestPolicy != nil && (d.AllowMultipleAllocations == nil || !*d.AllowMultipleAllocations) {
			r.forbidden("allowMultipleAllocations must be true", "capacity", key(name), "requestPolicy")
		}
	}
	if !selectsNodes {
		if d.NodeName != nil || d.NodeSelector != nil || d.AllNodes != nil {
			r.invalid(nil, "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true "+
				"in the ResourceSlice spec")
		}
		return
	}
	if used := nodeSelection(r, d.NodeName, d.NodeSelector, d.AllNodes); len(used) != 1 {
		r.required("exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true " +
			"in the ResourceSlice spec")
	}
}

func taintRule(r *report, s *resourcev1.DeviceTaintRuleSpec) {
	if s.Taint.Key == "" {
		r.required("", "taint", "key")
	} else {
		r.invalidAll(s.Taint.Key, validation.IsQualifiedName(s.Taint.Key), "taint", "key")
	}
	r.invalidAll(s.Taint.Value, validation.IsValidLabelValue(s.Taint.Value), "taint", "value")
	if s.DeviceSelector == nil {
		return
	}
	if driver := s.DeviceSelector.Driver; driver != nil {
		r.under(func() { csiDriver(r, *driver) }, "deviceSelector", "driver")
	}
	if device := s.DeviceSelector.Device; device != nil {
		r.invalidAll(*device, validation.IsDNS1123Label(*device), "deviceSelector", "device")
	}
}

// claimStatus checks the status of a claim: who uses it, and that the allocation does not change.
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
