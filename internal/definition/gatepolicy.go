package definition

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// GateAnnotation is the annotation of a definition with its GatePolicy.
const GateAnnotation = "holdfast.dev/definition-policy"

// GatePolicy says which changes of a definition the server refuses.
type GatePolicy string

// The policies, from the weakest to the strongest.
const (
	// Warn refuses nothing.
	Warn GatePolicy = "warn"
	// RefuseLoss refuses changes by which stored objects lose data, or by which a rule protects less.
	RefuseLoss GatePolicy = "refuse-loss"
	// RefuseBreaking also refuses changes that make objects of clients or stored ones invalid.
	RefuseBreaking GatePolicy = "refuse-breaking"
)

// GatePolicies are all policies, from the weakest to the strongest.
var GatePolicies = []GatePolicy{Warn, RefuseLoss, RefuseBreaking}

// IsWeakerThan reports whether a policy refuses less than another one.
func (p GatePolicy) IsWeakerThan(other GatePolicy) bool {
	return slices.Index(GatePolicies, p) < slices.Index(GatePolicies, other)
}

// Check returns an error if there is no such policy.
func (p GatePolicy) Check() error {
	if !slices.Contains(GatePolicies, p) {
		return fmt.Errorf("%q: must be warn, refuse-loss or refuse-breaking", p)
	}
	return nil
}

// GatePolicy returns the policy of a definition, or the given one if its annotation names none.
func (crd *CustomResourceDefinition) GatePolicy(otherwise GatePolicy) GatePolicy {
	if policy := GatePolicy(crd.Annotations[GateAnnotation]); policy.Check() == nil {
		return policy
	}
	return otherwise
}

// ValidateGatePolicy reports an annotation that names no policy.
func ValidateGatePolicy(crd *CustomResourceDefinition) field.ErrorList {
	value, ok := crd.Annotations[GateAnnotation]
	if !ok || GatePolicy(value).Check() == nil {
		return nil
	}
	values := make([]string, 0, len(GatePolicies))
	for _, policy := range GatePolicies {
		values = append(values, string(policy))
	}
	return field.ErrorList{field.NotSupported(field.NewPath("metadata", "annotations").Key(GateAnnotation), value, values)}
}
