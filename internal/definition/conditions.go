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

// StoredObjectsValid is the condition of a definition with stored objects. It is False if the server would refuse some of them if clients
// wrote them again as new objects, and Unknown until a server has read the objects.
const StoredObjectsValid apiextensionsv1.CustomResourceDefinitionConditionType = "StoredObjectsValid"

func condition(
	kind apiextensionsv1.CustomResourceDefinitionConditionType,
	status apiextensionsv1.ConditionStatus,
	reason, message string,
) apiextensionsv1.CustomResourceDefinitionCondition {
	return apiextensionsv1.CustomResourceDefinitionCondition{Type: kind, Status: status, Reason: reason, Message: message}
}

// FindCondition returns the condition of that type, or nil. The result points
// into crd.
func FindCondition(
	crd *CustomResourceDefinition, kind apiextensionsv1.CustomResourceDefinitionConditionType,
) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i := range crd.Status.Conditions {
		if crd.Status.Conditions[i].Type == kind {
			return &crd.Status.Conditions[i]
		}
	}
	return nil
}

// IsConditionTrue reports whether crd has the condition and its status is True.
func IsConditionTrue(crd *CustomResourceDefinition, kind apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	c := FindCondition(crd, kind)
	return c != nil && c.Status == apiextensionsv1.ConditionTrue
}

// SetCondition sets a condition in the status of crd and reports whether it
// changed crd. It sets the transition time to now if the status of the condition
// changes, and keeps it otherwise.
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

// RemoveCondition removes the condition of that type from the status of crd and
// reports whether crd had it.
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

// Establish returns the condition Established for a definition with accepted
// names. Its status is False if the CA bundle of the conversion webhook is invalid,
// and True otherwise. The caller serves the resource before it stores the status
// True. ok is false if the names are not accepted, or if the definition is
// established already.
func Establish(crd *CustomResourceDefinition) (c apiextensionsv1.CustomResourceDefinitionCondition, ok bool) {
	if !IsConditionTrue(crd, apiextensionsv1.NamesAccepted) || IsConditionTrue(crd, apiextensionsv1.Established) {
		return c, false
	}
	if conversion := crd.Spec.Conversion; conversion != nil && conversion.Webhook != nil && conversion.Webhook.ClientConfig != nil {
		bundle := conversion.Webhook.ClientConfig.CABundle
		if len(bundle) > 0 && len(webhook.ValidateCABundle(nil, bundle)) > 0 {
			return condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse,
				"InvalidCABundle", "The conversion webhook CABundle is invalid"), true
		}
	}
	return condition(apiextensionsv1.Established, apiextensionsv1.ConditionTrue,
		"InitialNamesAccepted", "the initial names have been accepted"), true
}

// maxViolations is the number of violations that the message of the condition
// NonStructuralSchema lists.
const maxViolations = 20

// NonStructural returns the condition NonStructuralSchema. It informs the author
// of the definition and has no other effect. ok is false, and the definition
// gets no such condition, if objects are pruned and all schemas are structural.
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
	var violations []string
	for _, err := range errs[:min(len(errs), maxViolations)] {
		violations = append(violations, err.Error())
	}
	if more := len(errs) - len(violations); more > 0 {
		violations = append(violations, fmt.Sprintf("and %d more", more))
	}
	message := strings.Join(violations, "; ")
	return condition(apiextensionsv1.NonStructuralSchema, apiextensionsv1.ConditionTrue, "Violations", message), true
}

// APIApproval returns the condition KubernetesAPIApprovalPolicyConformant. ok is
// false if the group is not protected, that is, does not end in k8s.io or
// kubernetes.io.
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
