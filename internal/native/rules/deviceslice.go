package rules

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resourceSlice checks the driver, the pool and the nodes of a slice.
func resourceSlice(r *report, s *resourcev1.ResourceSliceSpec) {
	driverName(r, s.Driver, "driver")
	r.under(func() { devicePool(r, s.Pool) }, "pool")
	nodes := nodeSelection(r, s.NodeName, s.NodeSelector, s.AllNodes)
	if s.NodeSelector != nil && len(s.NodeSelector.NodeSelectorTerms) != 1 {
		r.invalid(s.NodeSelector.NodeSelectorTerms, "must have exactly one node selector term", "nodeSelector", "nodeSelectorTerms")
	}
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
	poolName(r, p.Name, "name")
	if p.ResourceSliceCount <= 0 {
		r.invalid(p.ResourceSliceCount, "must be greater than zero", "resourceSliceCount")
	}
	if p.Generation < 0 {
		r.invalid(p.Generation, "must be greater than or equal to zero", "generation")
	}
}

func driverName(r *report, name string, rest ...any) {
	if name == "" {
		r.required("", rest...)
		return
	}
	r.under(func() { csiDriver(r, name) }, rest...)
}

// poolName checks the name of a pool: subdomains with slashes between them.
func poolName(r *report, name string, rest ...any) {
	if name == "" {
		r.required("", rest...)
		return
	}
	if len(name) > resourcev1.PoolNameMaxLength {
		r.add(field.ErrorList{field.TooLong(r.path(rest...), "", resourcev1.PoolNameMaxLength)})
	}
	for segment := range strings.SplitSeq(name, "/") {
		r.invalidAll(segment, validation.IsDNS1123Subdomain(segment), rest...)
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
		r.walkBelow(reflect.ValueOf(selector), "nodeSelector")
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
