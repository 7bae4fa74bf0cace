package native

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/component-base/featuregate"
)

// ImmutableEphemeralVolumes is the feature that ConfigMaps and Secrets can be
// made immutable. It is on unless somebody turns it off.
const ImmutableEphemeralVolumes featuregate.Feature = "ImmutableEphemeralVolumes"

// NewFeatures returns the features of the built-in kinds as they are by default,
// to be set before they are asked for.
func NewFeatures() featuregate.MutableFeatureGate {
	gate := featuregate.NewFeatureGate()
	utilruntime.Must(gate.Add(map[featuregate.Feature]featuregate.FeatureSpec{
		ImmutableEphemeralVolumes: {Default: true, PreRelease: featuregate.Beta},
	}))
	return gate
}

// Under is the kind as it is with the features that are on.
func (k Kind) Under(features featuregate.FeatureGate) Kind {
	switch k.Object.(type) {
	case *corev1.ConfigMap, *corev1.Secret:
	default:
		return k
	}
	if features.Enabled(ImmutableEphemeralVolumes) {
		return k
	}
	create, update := k.PrepareCreate, k.PrepareUpdate
	k.PrepareCreate = func(obj runtime.Object) {
		dropImmutable(obj, nil)
		if create != nil {
			create(obj)
		}
	}
	k.PrepareUpdate = func(newObj, oldObj runtime.Object) {
		dropImmutable(newObj, oldObj)
		if update != nil {
			update(newObj, oldObj)
		}
	}
	return k
}

// dropImmutable takes immutable out of what a request says, unless what is
// stored has it: what is there stays, and stays protected.
func dropImmutable(newObj, oldObj runtime.Object) {
	if immutable := immutableOf(oldObj); immutable != nil && *immutable != nil {
		return
	}
	if immutable := immutableOf(newObj); immutable != nil {
		*immutable = nil
	}
}

// immutableOf is the field of an object, nil if there is no object.
func immutableOf(obj runtime.Object) **bool {
	switch obj := obj.(type) {
	case *corev1.ConfigMap:
		return &obj.Immutable
	case *corev1.Secret:
		return &obj.Immutable
	}
	return nil
}
