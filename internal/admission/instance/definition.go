package instance

import (
	"encoding/json"
	"errors"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"holdfast.dev/holdfast/internal/definition"
)

var definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// protectDefinition refuses to delete the definition of one of the three kinds, because
// all Instances would be deleted with it, and refuses changes of its spec, and owners,
// with which it would be deleted. The server itself may write the definitions: it
// updates them when it starts. Its garbage collector may not delete them.
func protectDefinition(a admission.Attributes) error {
	old, isDefinition := a.GetOldObject().(*definition.CustomResourceDefinition)
	if !isDefinition {
		return nil
	}
	switch old.Name {
	case "operators.kudo.dev", "operatorversions.kudo.dev", "instances.kudo.dev":
	default:
		return nil
	}
	if updated, isUpdate := a.GetObject().(*definition.CustomResourceDefinition); isUpdate {
		if a.GetUserInfo().GetName() == user.APIServerUser {
			return nil
		}
		same, err := sameSpec(old, updated)
		if err != nil || same && len(updated.OwnerReferences) == 0 {
			return err
		}
	}
	return apierrors.NewForbidden(definitions, old.Name, errors.New("it is built in, and stays as it is"))
}

// sameSpec compares the specs of two definitions as decoded JSON, so that the order of
// keys in their schemas does not matter.
func sameSpec(oldObj, newObj *definition.CustomResourceDefinition) (bool, error) {
	var specs [2]any
	for i, spec := range []definition.CustomResourceDefinitionSpec{oldObj.Spec, newObj.Spec} {
		text, err := json.Marshal(spec)
		if err != nil {
			return false, err
		}
		if err := json.Unmarshal(text, &specs[i]); err != nil {
			return false, err
		}
	}
	return reflect.DeepEqual(specs[0], specs[1]), nil
}
