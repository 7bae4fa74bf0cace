package definition

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of definitions.
const GroupName = "apiextensions.k8s.io"

// The API versions of CustomResourceDefinitions.
const (
	V1      = "v1"
	V1beta1 = "v1beta1"
)

// Kind is the group, version and kind of stored definitions.
var Kind = schema.GroupVersionKind{Group: GroupName, Version: V1, Kind: "CustomResourceDefinition"}

// Resource is the resource of definitions.
var Resource = schema.GroupResource{Group: GroupName, Resource: "customresourcedefinitions"}

// AddToScheme registers the stored form and its defaults. The same Go type is
// apiextensions.k8s.io/v1 and the internal version, so a conversion between the
// two copies nothing. Package v1beta1 registers the older API version.
func AddToScheme(scheme *runtime.Scheme) error {
	v1 := schema.GroupVersion{Group: GroupName, Version: V1}
	for _, gv := range []schema.GroupVersion{v1, {Group: GroupName, Version: runtime.APIVersionInternal}} {
		scheme.AddKnownTypes(gv, &CustomResourceDefinition{}, &CustomResourceDefinitionList{})
	}
	metav1.AddToGroupVersion(scheme, v1)
	scheme.AddTypeDefaultingFunc(&CustomResourceDefinition{}, func(obj any) {
		SetDefaults(obj.(*CustomResourceDefinition))
	})
	scheme.AddTypeDefaultingFunc(&CustomResourceDefinitionList{}, func(obj any) {
		list := obj.(*CustomResourceDefinitionList)
		for i := range list.Items {
			SetDefaults(&list.Items[i])
		}
	})
	return nil
}
