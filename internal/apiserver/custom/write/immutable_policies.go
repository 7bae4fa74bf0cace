package write

import (
	"context"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/policies"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/policy"
)

// checkPolicies returns the changes that ImmutabilityPolicies forbid.
func (j Judge) checkPolicies(ctx context.Context, newObj, oldObj *object.Object) (refusal.Decision, error) {
	if j.Policies == nil {
		return refusal.Decision{}, nil
	}
	return j.Policies.CheckCustom(ctx, policies.Custom{Definition: j.Version.Kind.CRD, Update: policy.Update{
		Version: j.Version.Name, Namespace: oldObj.GetNamespace(), Name: oldObj.GetName(), OldObj: oldObj.Object, NewObj: newObj.Object,
		Converted: func(ctx context.Context, version string) (was, is map[string]any, err error) {
			return j.inVersion(ctx, newObj, oldObj, version)
		},
	}})
}

// inVersion returns both objects of an update in another version, as the server stores them. An object that is being deleted must
// lose its finalizers in every version, so only what the version of the request shows is compared.
func (j Judge) inVersion(ctx context.Context, newObj, oldObj *object.Object, version string) (was, is map[string]any, err error) {
	if j.Version != j.Version.Kind.Storage() && oldObj.GetDeletionTimestamp() == nil {
		// The version of the request may lack fields that a policy protects, and the server keeps only those that a marker protects.
		if oldObj, err = j.storedAt(ctx, oldObj); err != nil {
			return nil, nil, err
		}
	}
	if j.Version.Kind.CRD.Spec.ConvertsNothing() {
		newObj = newObj.Whole()
	}
	convertedOld, convertedNew, err := convertUpdate(oldObj, newObj, j.Version.Kind.Versions[version])
	if err != nil {
		return nil, nil, err
	}
	return convertedOld.Object, convertedNew.Object, nil
}
