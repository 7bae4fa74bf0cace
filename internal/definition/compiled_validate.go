package definition

import (
	"context"
	"maps"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// Validate validates an object after it was decoded, pruned and defaulted: the
// full schema, the values of the scale subresource, the metadata of embedded
// objects, the keys of lists of type map and set, and the CEL rules. It returns
// an error for every path that fails.
//
// oldObj is the stored object, or nil if newObj is created. As upstream does,
// Validate does not report an invalid value that oldObj has too and that the
// write leaves unchanged. It changes neither object, and it does not validate
// the metadata of the object itself.
func (c *Compiled) Validate(ctx context.Context, newObj, oldObj map[string]any) field.ErrorList {
	if errs := c.incomplete(); errs != nil {
		return errs
	}
	var errs field.ErrorList
	correlated := c.correlate(newObj, oldObj)
	if oldObj == nil {
		errs = apiservervalidation.ValidateCustomResource(nil, newObj, c.schema)
	} else {
		ratcheting := apiservervalidation.WithRatcheting(correlated)
		errs = apiservervalidation.ValidateCustomResourceUpdate(nil, newObj, oldObj, c.schema, ratcheting)
	}
	errs = append(errs, c.validateScale(newObj)...)
	if c.embeds {
		errs = append(errs, objectmeta.Validate(ctx, nil, newObj, c.Structural, false)...)
	}
	errs = append(errs, c.validateLists(newObj, oldObj)...)
	return c.validateRules(ctx, errs, correlated)
}

// ValidateStatus validates a write of the status subresource. It does not report
// invalid values outside of the status.
func (c *Compiled) ValidateStatus(ctx context.Context, newObj, oldObj map[string]any) field.ErrorList {
	if errs := c.incomplete(); errs != nil {
		return errs
	}
	if c.rootLogic {
		return c.Validate(ctx, newObj, oldObj)
	}
	var errs field.ErrorList
	correlated := c.correlate(newObj, oldObj)
	if status, ok := newObj["status"]; ok {
		path, ratcheting := field.NewPath("status"), apiservervalidation.WithRatcheting(correlated.Key("status"))
		errs = apiservervalidation.ValidateCustomResourceUpdate(path, status, oldObj["status"], c.status, ratcheting)
	}
	errs = append(errs, c.validateScaleStatus(newObj)...)
	errs = append(errs, c.validateLists(newObj, oldObj)...)
	return c.validateRules(ctx, errs, correlated)
}

// correlate pairs the values of newObj with the values of oldObj that have the
// same path or list key. The result has no old value if oldObj is nil.
func (c *Compiled) correlate(newObj, oldObj map[string]any) *common.CorrelatedObject {
	if oldObj == nil {
		return common.NewCorrelatedObject(newObj, nil, nil)
	}
	return common.NewCorrelatedObject(newObj, oldObj, c.correlation())
}

// validateLists reports keys that occur twice in a list of type map or set. It
// reports none if oldObj has such a key too, so that stored objects can still be
// updated.
func (c *Compiled) validateLists(newObj, oldObj map[string]any) field.ErrorList {
	if !c.keyed {
		return nil
	}
	errs := listtype.ValidateListSetsAndMaps(nil, c.lists, newObj)
	if len(errs) > 0 && oldObj != nil && len(listtype.ValidateListSetsAndMaps(nil, c.lists, oldObj)) > 0 {
		return nil
	}
	return errs
}

// RulesNotChecked is the detail of the error that Validate adds to others if these keep it from running the CEL rules.
const RulesNotChecked = "some validation rules were not checked because the object was invalid; " +
	"correct the existing errors to complete validation"

// validateRules appends the errors of the CEL rules to errs and sorts all of them.
func (c *Compiled) validateRules(ctx context.Context, errs field.ErrorList, correlated *common.CorrelatedObject) field.ErrorList {
	if c.rules == nil {
		sortErrors(errs)
		return errs
	}
	if blockRules(errs) {
		sortErrors(errs)
		return append(errs, field.Invalid(nil, nil, RulesNotChecked))
	}
	if c.correlatedRulesHold(ctx, correlated) {
		sortErrors(errs)
		return errs
	}
	var options []cel.Option
	if correlated.OldValue != nil {
		options = append(options, cel.WithRatcheting(correlated))
	}
	found, _ := c.rules().Validate(
		ctx, nil, c.Structural, correlated.Value, correlated.OldValue, celconfig.RuntimeCELCostBudget, options...)
	if len(found) > 0 && c.wasUnreadable(correlated) {
		found = nil
	}
	errs = append(errs, found...)
	sortErrors(errs)
	return errs
}

// correlatedRulesHold is rulesHold for an old object about which nothing is known.
func (c *Compiled) correlatedRulesHold(ctx context.Context, correlated *common.CorrelatedObject) bool {
	newObj, isObject := correlated.Value.(map[string]any)
	oldObj, _ := correlated.OldValue.(map[string]any)
	return isObject && c.rulesHold(ctx, newObj, Stored{Object: oldObj})
}

// wasUnreadable reports whether a write changes only the metadata of a stored object on which
// no rule can run: it was stored under an earlier schema and has values of the wrong type.
// Clients can still label such an object, and remove its finalizers.
func (c *Compiled) wasUnreadable(correlated *common.CorrelatedObject) bool {
	newObj, isNew := correlated.Value.(map[string]any)
	oldObj, isOld := correlated.OldValue.(map[string]any)
	if !isNew || !isOld || !apiequality.Semantic.DeepEqual(WithoutMetadata(newObj), WithoutMetadata(oldObj)) {
		return false
	}
	return blockRules(apiservervalidation.ValidateCustomResource(nil, oldObj, c.schema))
}

// WithoutMetadata returns a copy of an object without its metadata. It shares all other values.
func WithoutMetadata(obj map[string]any) map[string]any {
	out := maps.Clone(obj)
	delete(out, "metadata")
	return out
}

// blockRules reports whether the CEL rules must not run on an object with these
// errors. The types and costs of the rules assume that the object has the types
// and sizes that the schema gives.
func blockRules(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
			field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}
