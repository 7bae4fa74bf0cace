package native

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
)

// addAPIServices adds the kind APIService. The function of the library would also add its
// defaults, which NewSchemeWithoutDefaults must not have.
func addAPIServices(s *runtime.Scheme) error {
	s.AddKnownTypes(apiregistrationv1.SchemeGroupVersion, &apiregistrationv1.APIService{}, &apiregistrationv1.APIServiceList{})
	metav1.AddToGroupVersion(s, apiregistrationv1.SchemeGroupVersion)
	return nil
}

// prepareAPIService sets the condition Available of a new APIService without a Service. This
// server itself serves such an API.
func prepareAPIService(obj runtime.Object) {
	if service := obj.(*apiregistrationv1.APIService); service.Spec.Service == nil {
		helper.SetAPIServiceCondition(service, helper.NewLocalAvailableAPIServiceCondition())
	}
}

// Groups returns the API groups with built-in kinds, which no other server can serve. The
// core group has an empty name.
func Groups() map[string]bool {
	groups := map[string]bool{
		authenticationv1.GroupName: true, authorizationv1.GroupName: true, apiextensionsv1.GroupName: true,
		"kudo.dev": true, "guard.holdfast.dev": true,
	}
	for _, kind := range Kinds() {
		groups[kind.GroupVersion.Group] = true
		for _, other := range kind.OtherVersions {
			groups[other.Group] = true
		}
	}
	return groups
}
