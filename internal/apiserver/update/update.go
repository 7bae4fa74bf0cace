// Package update validates updates of objects. The registries of all kinds use it.
//
// A registry takes an update through these steps. A step that fails answers the
// client, and the steps after it do not run.
//
//  1. The store compares UID and resourceVersion: 409.
//  2. For custom resources, BeginUpdate of the store compares the UID in a patch
//     (409) and the fields that the definition marks as immutable: 400, or 422 if the
//     server is configured so. Then it compares the kind with the URL: 422. Clients
//     expect these status codes, so this step comes before validation.
//  3. PrepareForUpdate of the strategy completes the object.
//  4. ValidateUpdate of the strategy calls [Judge] with the rules of the kind: 422,
//     with the errors of all rules.
//  5. Validating admission.
//
// Steps 2 and 4 show values only to a client that may get the object, see package
// disclosure.
package update

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/apiserver/disclosure"
	"holdfast.dev/holdfast/internal/protection"
)

// Rule validates an update and returns the errors that it finds. It does not change the content of either object.
type Rule func(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList

// Judge validates an update with the rules of its kind. It runs all rules, and returns
// their errors in the order of the rules. A client that may not get the object reads no
// values in them. An update of a field that cannot change counts as refused by a protection.
func Judge(ctx context.Context, newObj, oldObj runtime.Object, rules ...Rule) field.ErrorList {
	var errs field.ErrorList
	for _, rule := range rules {
		errs = append(errs, rule(ctx, newObj, oldObj)...)
	}
	if fields := protection.FieldsOf(errs, protection.IsImmutable); len(fields) > 0 {
		protection.Refuse(ctx, protection.BuiltInField, fields...)
	}
	return disclosure.Errors(ctx, errs)
}
