package definition

import (
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"
)

func condition(
	kind apiextensionsv1.CustomResourceDefinitionConditionType,
	status apiextensionsv1.ConditionStatus,
	reason, message string,
) apiextensionsv1.CustomResourceDefinitionCondition {
	return apiextensionsv1.CustomResourceDefinitionCondition{Type: kind, Status: status, Reason: reason, Message: message}
}

// FindCondition returns the condition of that type, which is part of crd, or
// nil.
func FindCondition(crd *CustomResourceDefinition, kind apiextensionsv1.CustomResourceDefinitionConditionType) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i := range crd.Status.Conditions {
		if crd.Status.Conditions[i].Type == kind {
			return &crd.Status.Conditions[i]
		}
	}
	return nil
}

// IsConditionTrue says whether the condition of that type is there and true.
func IsConditionTrue(crd *CustomResourceDefinition, kind apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	c := FindCondition(crd, kind)
	return c != nil && c.Status == apiextensionsv1.ConditionTrue
}

// SetCondition sets a condition in the status of crd, which it changes, and says
// whether that made a difference. The time of the transition is now if the
// status of the condition changes, and stays otherwise.
func SetCondition(crd *CustomResourceDefinition, set apiextensionsv1.CustomResourceDefinitionCondition, now metav1.Time) bool {
	set.LastTransitionTime = now
	old := FindCondition(crd, set.Type)
	if old == nil {
		crd.Status.Conditions = append(crd.Status.Conditions, set)
		return true
	}
	if old.Status == set.Status {
		set.LastTransitionTime = old.LastTransitionTime
	}
	if *old == set {
		return false
	}
	*old = set
	return true
}

// RemoveCondition removes the condition of that type from the status of crd,
// which it changes, and says whether it was there.
func RemoveCondition(crd *CustomResourceDefinition, kind apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	var kept []apiextensionsv1.CustomResourceDefinitionCondition
	for _, c := range crd.Status.Conditions {
		if c.Type != kind {
			kept = append(kept, c)
		}
	}
	removed := len(kept) < len(crd.Status.Conditions)
	crd.Status.Conditions = kept
	return removed
}

// Establish is the condition Established of a definition whose names are
// accepted and whose resource is being served. It is not true where the
// certificates of the conversion webhook cannot be read. ok is false while the
// names are not accepted, and when it is established already.
func Establish(crd *CustomResourceDefinition) (c apiextensionsv1.CustomResourceDefinitionCondition, ok bool) {
	if !IsConditionTrue(crd, apiextensionsv1.NamesAccepted) || IsConditionTrue(crd, apiextensionsv1.Established) {
		return c, false
	}
	if conversion := crd.Spec.Conversion; conversion != nil && conversion.Webhook != nil && conversion.Webhook.ClientConfig != nil {
		bundle := conversion.Webhook.ClientConfig.CABundle
		if len(bundle) > 0 && len(webhook.ValidateCABundle(nil, bundle)) > 0 {
			return condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "InvalidCABundle", "The conversion webhook CABundle is invalid"), true
		}
	}
	return condition(apiextensionsv1.Established, apiextensionsv1.ConditionTrue, "InitialNamesAccepted", "the initial names have been accepted"), true
}

// maxViolations bounds the message of NonStructuralSchema.
const maxViolations = 20

// NonStructural is the condition NonStructuralSchema, which here is information
// and holds nothing back: ok is false for a definition that is pruned and whose
// schemas are all structural, which has no such condition.
func NonStructural(crd *CustomResourceDefinition) (c apiextensionsv1.CustomResourceDefinitionCondition, ok bool) {
	var errs field.ErrorList
	if len(crd.Spec.Versions) > 0 && !crd.Spec.PrunedAnywhere() {
		errs = append(errs, field.Invalid(field.NewPath("spec", "preserveUnknownFields"), true, "must be false"))
	}
	for i := range crd.Spec.Versions {
		s, _, err := crd.Spec.Versions[i].DecodeSchema()
		if err != nil || s == nil {
			continue
		}
		structural, err := structuralschema.NewStructural(typing{}.of(s))
		if err != nil {
			errs = append(errs, field.Invalid(schemaPath(i), field.OmitValueType{}, err.Error()))
			continue
		}
		errs = append(errs, structuralschema.ValidateStructural(schemaPath(i), structural)...)
	}
	if len(errs) == 0 {
		return c, false
	}
	var said []string
	for _, err := range errs[:min(len(errs), maxViolations)] {
		said = append(said, err.Error())
	}
	if more := len(errs) - len(said); more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return condition(apiextensionsv1.NonStructuralSchema, apiextensionsv1.ConditionTrue, "Violations", strings.Join(said, "; ")), true
}

// APIApproval is the condition KubernetesAPIApprovalPolicyConformant; ok is
// false for groups that are not the Kubernetes community's.
func APIApproval(crd *CustomResourceDefinition) (c apiextensionsv1.CustomResourceDefinitionCondition, ok bool) {
	const kind = apiextensionsv1.KubernetesAPIApprovalPolicyConformant
	if !apihelpers.IsProtectedCommunityGroup(crd.Spec.Group) {
		return c, false
	}
	state, reason := apihelpers.GetAPIApprovalState(crd.Annotations)
	switch state {
	case apihelpers.APIApproved:
		return condition(kind, apiextensionsv1.ConditionTrue, "ApprovedAnnotation", reason), true
	case apihelpers.APIApprovalBypassed:
		return condition(kind, apiextensionsv1.ConditionFalse, "UnapprovedAnnotation", reason), true
	case apihelpers.APIApprovalInvalid:
		return condition(kind, apiextensionsv1.ConditionFalse, "InvalidAnnotation", reason), true
	}
	return condition(kind, apiextensionsv1.ConditionFalse, "MissingAnnotation", reason), true
}
