package enforcement

import (
	"encoding/json"
	"errors"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"holdfast.dev/holdfast/definition"
)

var definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// ownDefinition refuses to delete the definition of one of the three kinds, and
// to give it another spec: all that holds an Instance would go with it. The
// server itself brings definitions up to date at start.
func ownDefinition(a admission.Attributes) error {
	old, isDefinition := a.GetOldObject().(*definition.CustomResourceDefinition)
	if !isDefinition || a.GetUserInfo().GetName() == user.APIServerUser {
		return nil
	}
	switch old.Name {
	case "operators.kudo.dev", "operatorversions.kudo.dev", "instances.kudo.dev":
	default:
		return nil
	}
	if updated, isUpdate := a.GetObject().(*definition.CustomResourceDefinition); isUpdate {
		same, err := sameSpec(old, updated)
		if err != nil || same {
			return err
		}
	}
	return apierrors.NewForbidden(definitions, old.Name, errors.New("it is built in, and stays as it is"))
}

// sameSpec compares what the definitions say, however their schemas are spelled.
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
