package definitions

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/assessment"
	"holdfast.dev/holdfast/internal/definition/change"
)

// Computing is the condition StoredObjectsValid until a server has read the objects, see package validity.
var Computing = apiextensionsv1.CustomResourceDefinitionCondition{
	Type: definition.StoredObjectsValid, Status: apiextensionsv1.ConditionUnknown, Reason: "Computing",
	Message: "the server reads the stored objects, to find those that the definition does not accept",
}

// recheck sets the condition StoredObjectsValid of a definition to Unknown, if an update of the definition may change what the condition
// says. The update itself does this: no client sees the new schema with the condition of the old one, and no server misses the change.
func recheck(crd, old *definition.CustomResourceDefinition) {
	current := definition.FindCondition(crd, definition.StoredObjectsValid)
	if old == nil || current == nil || current.Status == apiextensionsv1.ConditionUnknown {
		return
	}
	// A migration has stored objects in another version.
	migrated := len(assessment.Unstored(old, crd)) > 0
	if !migrated && definition.SameForObjects(old, crd) {
		return
	}
	// A change that accepts more leaves valid objects valid.
	if !migrated && current.Status == apiextensionsv1.ConditionTrue && !change.MayRefuse(old, crd) {
		return
	}
	definition.SetCondition(crd, Computing, metav1.Now())
}
