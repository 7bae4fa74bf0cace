package native

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/component-base/featuregate"
)

// ImmutableEphemeralVolumes is the feature gate for the field immutable of ConfigMaps and
// Secrets. It is enabled by default.
const ImmutableEphemeralVolumes featuregate.Feature = "ImmutableEphemeralVolumes"

// NewFeatures returns a feature gate with the defaults of all features of the built-in
// kinds. Set features before the gate is used.
func NewFeatures() featuregate.MutableFeatureGate {
	gate := featuregate.NewFeatureGate()
	utilruntime.Must(gate.Add(map[featuregate.Feature]featuregate.FeatureSpec{
		ImmutableEphemeralVolumes: {Default: true, PreRelease: featuregate.Beta},
	}))
	return gate
}

// WithFeatures returns the kind with the changes that disabled features make to it. If
// ImmutableEphemeralVolumes is disabled, writes of ConfigMaps and Secrets ignore the field
// immutable.
func (k Kind) WithFeatures(features featuregate.FeatureGate) Kind {
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

// dropImmutable removes the field immutable from a request, unless it is set in the stored
// object: such an object stays immutable.
func dropImmutable(newObj, oldObj runtime.Object) {
	if immutable := immutableOf(oldObj); immutable != nil && *immutable != nil {
		return
	}
	if immutable := immutableOf(newObj); immutable != nil {
		*immutable = nil
	}
}

// immutableOf returns the address of the field immutable. It returns nil if obj is nil.
func immutableOf(obj runtime.Object) **bool {
	switch obj := obj.(type) {
	case *corev1.ConfigMap:
		return &obj.Immutable
	case *corev1.Secret:
		return &obj.Immutable
	}
	return nil
}
