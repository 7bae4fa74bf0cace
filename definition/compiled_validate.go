package definition

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// Validate is the second step of validation: the full schema, the values of the
// scale subresource, the metadata of embedded objects, the keys of lists of type
// map and set, and the CEL rules. It returns every failing path. oldObj is nil
// for a new object; otherwise what was wrong in it already and stands unchanged
// is not reported, as upstream has it. Both objects are pruned and defaulted,
// and neither is changed. The metadata of the object itself is not looked at.
func (c *Compiled) Validate(ctx context.Context, newObj, oldObj map[string]any) field.ErrorList {
	var errs field.ErrorList
	correlated := c.correlate(newObj, oldObj)
	if oldObj == nil {
		errs = apiservervalidation.ValidateCustomResource(nil, newObj, c.schema)
	} else {
		errs = apiservervalidation.ValidateCustomResourceUpdate(nil, newObj, oldObj, c.schema, apiservervalidation.WithRatcheting(correlated))
	}
	errs = append(errs, c.validateScale(newObj)...)
	errs = append(errs, objectmeta.Validate(ctx, nil, newObj, c.Structural, false)...)
	errs = append(errs, c.validateLists(newObj, oldObj)...)
	return c.validateRules(ctx, errs, correlated)
}

// ValidateStatus is Validate for a write of the status, which is not held to
// what is wrong elsewhere in the object.
func (c *Compiled) ValidateStatus(ctx context.Context, newObj, oldObj map[string]any) field.ErrorList {
	if c.tied {
		return c.Validate(ctx, newObj, oldObj)
	}
	var errs field.ErrorList
	correlated := c.correlate(newObj, oldObj)
	if status, ok := newObj["status"]; ok {
		ratcheting := apiservervalidation.WithRatcheting(correlated.Key("status"))
		errs = apiservervalidation.ValidateCustomResourceUpdate(field.NewPath("status"), status, oldObj["status"], c.status, ratcheting)
	}
	errs = append(errs, c.validateScaleStatus(newObj)...)
	errs = append(errs, c.validateLists(newObj, oldObj)...)
	return c.validateRules(ctx, errs, correlated)
}

// correlate ties an object to its old self; without one it is nil.
func (c *Compiled) correlate(newObj, oldObj map[string]any) *common.CorrelatedObject {
	if oldObj == nil {
		return common.NewCorrelatedObject(newObj, nil, nil)
	}
	return common.NewCorrelatedObject(newObj, oldObj, c.shape())
}

// validateLists looks for keys that a list of type map or set holds twice.
// Objects that had one twice before may go on.
func (c *Compiled) validateLists(newObj, oldObj map[string]any) field.ErrorList {
	errs := listtype.ValidateListSetsAndMaps(nil, c.lists, newObj)
	if len(errs) > 0 && oldObj != nil && len(listtype.ValidateListSetsAndMaps(nil, c.lists, oldObj)) > 0 {
		return nil
	}
	return errs
}

// validateRules adds what the CEL rules find to errs, and sorts them all.
func (c *Compiled) validateRules(ctx context.Context, errs field.ErrorList, correlated *common.CorrelatedObject) field.ErrorList {
	if c.rules == nil {
		sortErrors(errs)
		return errs
	}
	if blocks(errs) {
		sortErrors(errs)
		const detail = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
		return append(errs, field.Invalid(nil, nil, detail))
	}
	var options []cel.Option
	if correlated.OldValue != nil {
		options = append(options, cel.WithRatcheting(correlated))
	}
	found, _ := c.rules().Validate(ctx, nil, c.Structural, correlated.Value, correlated.OldValue, celconfig.RuntimeCELCostBudget, options...)
	errs = append(errs, found...)
	sortErrors(errs)
	return errs
}

// blocks says whether an error leaves objects in a state that CEL rules, whose
// types and costs assume a valid schema, must not meet.
func blocks(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}
