package definition

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of definitions.
const GroupName = "apiextensions.k8s.io"

// The API versions that a definition can be written through.
const (
	V1      = "v1"
	V1beta1 = "v1beta1"
)

// Kind is that of definitions, as they are stored.
var Kind = schema.GroupVersionKind{Group: GroupName, Version: V1, Kind: "CustomResourceDefinition"}

// AddToScheme registers the stored form as apiextensions.k8s.io/v1 and as the
// internal version, so that conversions between the two copy nothing, and its
// defaults. Package v1beta1 registers the older form.
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
