package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// deviceRules are the rules for resource.k8s.io. k8s.io/api has most of them as generated functions, which replace the rules
// of the schema here. The functions below, and in deviceclaim.go and deviceslice.go, are the rules that Kubernetes does not
// generate.
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
			generated(r, resourcev1.Validate_ResourceClaimTemplateSpec, &t.Spec, nil)
			r.under(func() { claimMetadata(r, &t.Spec.ObjectMeta) }, "spec", "metadata")
			r.under(func() { deviceClaim(r, &t.Spec.Spec.Devices) }, "spec", "spec", "devices")
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

// claimMetadata checks the metadata of the claims of a template: they have labels and annotations only.
func claimMetadata(r *report, m *metav1.ObjectMeta) {
	if len(m.Annotations) > 0 {
		r.add(apivalidation.ValidateAnnotations(m.Annotations, r.path("annotations")))
	}
	r.under(func() { labelSet(r, m.Labels) }, "labels")
	fields := reflect.ValueOf(m).Elem()
	for i := range fields.NumField() {
		name := jsonName(fields.Type().Field(i))
		if name != "annotations" && name != "labels" && !fields.Field(i).IsZero() {
			r.forbidden("cannot be set", name)
		}
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
