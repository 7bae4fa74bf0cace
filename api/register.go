package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of the three kinds.
var GroupVersion = schema.GroupVersion{Group: "kudo.dev", Version: "v1beta1"}

// AddToScheme registers the three kinds and their lists. It never fails; the error
// makes it usable where a runtime.SchemeBuilder function is expected.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Operator{}, &OperatorList{}, &OperatorVersion{}, &OperatorVersionList{}, &Instance{}, &InstanceList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
