package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
