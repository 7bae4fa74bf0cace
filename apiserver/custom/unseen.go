package custom

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/definition"
	"holdfast.dev/holdfast/immutability"
)

// A client that writes in one version cannot send the fields that only another version has.
// If a marker of another version protects such a field, the write keeps its stored value. An
// object that is read from storage has these values in object.unseen, and Encode stores them
// again. A write that replaces the object takes them over from the old object, see compare.
// This is for conversion None. A conversion webhook decides itself what it keeps.

// protectingPolicies returns the markers that protect values which v does not have. It is empty
// for the storage version, which has all stored values.
func protectingPolicies(v *version) []*immutability.Policy {
	if !v.resource.crd.Spec.ConvertsNothing() || v == v.resource.storage() {
		return nil
	}
	var policies []*immutability.Policy
	for _, other := range v.alsoMarked {
		policies = append(policies, other.compiled.Policy)
	}
	return policies
}

// storedContent returns a copy of a stored object in the storage version, without metadata. It
// returns nil if no marker protects values that v does not have.
func (v *version) storedContent(stored *object) (map[string]any, error) {
	if len(v.protecting) == 0 {
		return nil, nil
	}
	storage := v.resource.storage()
	if stored.GetAPIVersion() == storage.groupVersion().String() {
		return runtime.DeepCopyJSON(definition.WithoutMetadata(stored.Object)), nil
	}
	// The object was written when another version was the storage version.
	converted, err := v.resource.convertor.ConvertToVersion(stored, storage.groupVersion())
	if err != nil {
		return nil, err
	}
	u, ok := converted.(*object)
	if !ok {
		return nil, fmt.Errorf("unexpected object %T", converted)
	}
	return definition.WithoutMetadata(u.Object), nil
}

// unseenOf returns what this version does not show of a stored object and a marker protects.
func (v *version) unseenOf(stored, shown map[string]any) *immutability.Unseen {
	if stored == nil {
		return nil
	}
	return immutability.FindUnseen(v.protecting, stored, shown)
}
