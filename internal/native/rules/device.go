package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// sliceDevice checks one device of a slice. selectsNodes is true if the slice lets each device name its nodes.
func sliceDevice(r *report, d *resourcev1.Device, selectsNodes bool) {
	r.invalidAll(d.Name, validation.IsDNS1123Label(d.Name), "name")
	const most = resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice
	if n := len(d.Attributes) + len(d.Capacity); n > most {
		r.invalid(n, fmt.Sprintf("the total number of attributes and capacities must not exceed %d", most))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		r.under(func() { deviceIdentifier(r, string(name)) }, "attributes")
		r.under(func() { deviceAttribute(r, d.Attributes[name]) }, "attributes", key(name))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Capacity)) {
		r.under(func() { deviceIdentifier(r, string(name)) }, "capacity")
		if d.Capacity[name].RequestPolicy != nil && (d.AllowMultipleAllocations == nil || !*d.AllowMultipleAllocations) {
			r.forbidden("allowMultipleAllocations must be true", "capacity", key(name), "requestPolicy")
		}
	}
	if old := oldDevice(r, d.Name); old == nil || !apiequality.Semantic.DeepEqual(old.Taints, d.Taints) {
		for i := range d.Taints {
			r.under(func() { deviceTaint(r, &d.Taints[i]) }, "taints", i)
		}
	}
	bindingConditions(r, d.BindingConditions, d.BindingFailureConditions)
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

// oldDevice returns the stored device with this name, or nil.
func oldDevice(r *report, name string) *resourcev1.Device {
	old, ok := r.old.(*resourcev1.ResourceSlice)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(old.Spec.Devices, func(d resourcev1.Device) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &old.Spec.Devices[i]
}

// deviceIdentifier checks the name of an attribute or capacity: a C identifier, which may have a domain.
func deviceIdentifier(r *report, name string) {
	domain, id, hasDomain := strings.Cut(name, "/")
	switch {
	case strings.Contains(id, "/"):
		return // Kubernetes accepts names with two slashes
	case !hasDomain:
		id = domain
	case domain == "":
		r.invalid("", "the domain must not be empty")
	default:
		csiDriver(r, domain)
	}
	if hasDomain && id == "" {
		r.invalid("", "the name must not be empty")
		return
	}
	if len(id) > resourcev1.DeviceMaxIDLength {
		r.add(field.ErrorList{field.TooLong(r.path(), "", resourcev1.DeviceMaxIDLength)})
	}
	r.invalidAll(id, content.IsCIdentifier(id))
}

// semanticVersion is the pattern of semver.org for versions.
var semanticVersion = regexp.MustCompile(`^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}` +
	`(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`)

// deviceAttribute checks the value of an attribute. The generated functions check that it has one.
func deviceAttribute(r *report, a resourcev1.DeviceAttribute) {
	if a.VersionValue != nil && !semanticVersion.MatchString(*a.VersionValue) {
		r.invalid(*a.VersionValue, "must be a string compatible with semver.org spec 2.0.0", "version")
	}
	const longest = resourcev1.DeviceAttributeMaxValueLength
	for _, text := range []struct {
		field string
		value *string
	}{{"string", a.StringValue}, {"version", a.VersionValue}} {
		if text.value != nil && len(*text.value) > longest {
			r.add(field.ErrorList{field.TooLong(r.path(text.field), "", longest)})
		}
	}
}

func deviceTaint(r *report, t *resourcev1.DeviceTaint) {
	r.invalidAll(t.Key, validation.IsQualifiedName(t.Key), "key")
	r.invalidAll(t.Value, validation.IsValidLabelValue(t.Value), "value")
}

// bindingConditions checks the conditions that the scheduler waits for before it binds a pod. A device that has conditions for
// success also has conditions for failure.
func bindingConditions(r *report, success, failure []string) {
	for _, list := range []struct {
		field      string
		conditions []string
	}{{"bindingConditions", success}, {"bindingFailureConditions", failure}} {
		for i, condition := range list.conditions {
			r.invalidAll(condition, validation.IsQualifiedName(condition), list.field, i)
			if slices.Contains(list.conditions[:i], condition) {
				r.duplicate(condition, list.field, i)
			}
		}
	}
	for i, condition := range failure {
		if slices.Contains(success, condition) {
			r.invalid(condition, "bindingFailureConditions must not overlap with bindingConditions", "bindingFailureConditions", i)
		}
	}
	switch {
	case len(success) == 0 && len(failure) > 0:
		r.invalid(success, "bindingConditions are required to use bindingFailureConditions", "bindingConditions")
	case len(failure) == 0 && len(success) > 0:
		r.invalid(failure, "bindingFailureConditions are required to use bindingConditions", "bindingFailureConditions")
	}
}

func taintRule(r *report, s *resourcev1.DeviceTaintRuleSpec) {
	r.under(func() { deviceTaint(r, &s.Taint) }, "taint")
	if s.DeviceSelector == nil {
		return
	}
	if driver := s.DeviceSelector.Driver; driver != nil {
		driverName(r, *driver, "deviceSelector", "driver")
	}
	if pool := s.DeviceSelector.Pool; pool != nil {
		poolName(r, *pool, "deviceSelector", "pool")
	}
	if device := s.DeviceSelector.Device; device != nil {
		r.invalidAll(*device, validation.IsDNS1123Label(*device), "deviceSelector", "device")
	}
}
