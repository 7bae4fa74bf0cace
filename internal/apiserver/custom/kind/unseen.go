package kind

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/definition"
)

// A client that writes in one version cannot send the fields that only another version has.
// If a marker of another version protects such a field, the write keeps its stored value. An
// object that is read from storage has these values in Object.Unseen, and the codec stores them
// again. A write that replaces the object takes them over from the old object, see BeginUpdate
// in package write.
// This is for conversion None. A conversion webhook decides itself what it keeps.

// protectingPolicies returns the policies that may protect values which v does not have: those of
// the other versions with markers. It is empty for the storage version, which has all stored values.
func protectingPolicies(v *Version) []*immutability.Policy {
	if !v.Kind.CRD.Spec.ConvertsNothing() || v == v.Kind.Storage() {
		return nil
	}
	var policies []*immutability.Policy
	for _, other := range v.AlsoMarked {
		policies = append(policies, other.Compiled.Policy)
	}
	return policies
}

// FromStorage converts a stored object of another version to this one, with the marked values that this version does not have.
func (v *Version) FromStorage(stored *object.Object) (*object.Object, error) {
	if from := v.Kind.Versions[stored.GroupVersionKind().Version]; from != nil {
		from.Conform(stored.Object)
	}
	whole, err := v.storedContent(stored)
	if err != nil {
		return nil, err
	}
	converted, err := v.Kind.Convertor.unsafe.ConvertToVersion(object.AsUnstructured(stored), v.GroupVersion())
	if err != nil {
		return nil, err
	}
	u, ok := object.FromUnstructured(converted).(*object.Object)
	if !ok {
		return nil, fmt.Errorf("unexpected object %T", converted)
	}
	v.Conform(u.Object)
	u.Unseen, u.Sets = v.unseenOf(whole, u.Object), stored.Sets
	return u, nil
}

// storedContent returns a copy of a stored object in the storage version, without metadata. It
// returns nil if no marker protects values that v does not have.
func (v *Version) storedContent(stored *object.Object) (map[string]any, error) {
	if len(v.protecting) == 0 {
		return nil, nil
	}
	storage := v.Kind.Storage()
	if stored.GetAPIVersion() == storage.GroupVersion().String() {
		return runtime.DeepCopyJSON(definition.WithoutMetadata(stored.Object)), nil
	}
	// The object was written when another version was the storage version.
	converted, err := v.Kind.Convertor.ConvertToVersion(stored, storage.GroupVersion())
	if err != nil {
		return nil, err
	}
	u, ok := converted.(*object.Object)
	if !ok {
		return nil, fmt.Errorf("unexpected object %T", converted)
	}
	return definition.WithoutMetadata(u.Object), nil
}

// unseenOf returns what this version does not show of a stored object and a marker protects.
func (v *Version) unseenOf(stored, shown map[string]any) *immutability.Unseen {
	if stored == nil {
		return nil
	}
	return immutability.FindUnseen(v.protecting, stored, shown)
}
