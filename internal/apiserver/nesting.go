package apiserver

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/nesting"
)

// schemaLevels are the levels of a definition around a schema: the definition, its spec, the
// list of versions, a version, and the object with the schema.
const schemaLevels = 5

// levels returns how deep an object is nested. It counts only the parts that can have any depth:
// all of a custom resource, the schemas of a definition, the data of a ControllerRevision, and
// managed fields. The Go type limits the depth of all other parts.
func levels(obj runtime.Object) int {
	most := 0
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return nesting.ObjectLevels(obj.Object)
	case *definition.CustomResourceDefinition:
		for _, version := range obj.Spec.Versions {
			if version.Schema != nil {
				most = max(most, schemaLevels+nesting.TextLevels(version.Schema.OpenAPIV3Schema))
			}
		}
	case *appsv1.ControllerRevision:
		most = 1 + nesting.TextLevels(obj.Data.Raw)
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return most
	}
	for _, entry := range accessor.GetManagedFields() {
		if entry.FieldsV1 != nil {
			most = max(most, nesting.FieldLevels(entry.FieldsV1.GetRawBytes()))
		}
	}
	return most
}

// nestingAdmission rejects objects with too many levels that the check of request bodies cannot
// find: the result of a JSON patch, and objects that plugins or webhooks changed. An object that
// was stored with too many levels can be updated, but not with more levels than it has.
type nestingAdmission struct{ admission.Interface }

var (
	_ admission.MutationInterface   = nestingAdmission{}
	_ admission.ValidationInterface = nestingAdmission{}
)

// Handles implements admission.Interface.
func (nestingAdmission) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (n nestingAdmission) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if err := checkLevels(a); err != nil {
		return err
	}
	next, ok := n.Interface.(admission.MutationInterface)
	if !ok || !next.Handles(a.GetOperation()) {
		return nil
	}
	if err := next.Admit(ctx, a, o); err != nil {
		return err
	}
	return checkLevels(a)
}

// Validate implements admission.ValidationInterface.
func (n nestingAdmission) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	next, ok := n.Interface.(admission.ValidationInterface)
	if !ok || !next.Handles(a.GetOperation()) {
		return nil
	}
	return next.Validate(ctx, a, o)
}

func checkLevels(a admission.Attributes) error {
	if a.GetObject() == nil {
		return nil
	}
	found := levels(a.GetObject())
	if found <= nesting.Limit || a.GetOldObject() != nil && found <= levels(a.GetOldObject()) {
		return nil
	}
	return apierrors.NewBadRequest(nesting.Error{What: "the object"}.Error())
}
