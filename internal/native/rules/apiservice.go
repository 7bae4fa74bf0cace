package rules

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/validation"

	"holdfast.dev/holdfast/internal/native"
)

func apiServiceRules() []rule {
	return []rule{
		// validation checks both, with a message about their range.
		notRequired[apiregistrationv1.APIServiceSpec]("groupPriorityMinimum"),
		notRequired[apiregistrationv1.APIServiceSpec]("versionPriority"),
		onStruct(apiService),
	}
}

// apiService checks an APIService with the functions of Kubernetes. Of metadata it passes only
// the name, because the other fields are checked for all kinds alike.
func apiService(r *report, s *apiregistrationv1.APIService) {
	internal := internalAPIService(s)
	internal.ObjectMeta = metav1.ObjectMeta{Name: s.Name}
	r.add(validation.ValidateAPIService(context.Background(), internal))
	// Kubernetes has no such rule. There, another server can take over the built-in kinds.
	if s.Spec.Service != nil && native.Groups()[s.Spec.Group] {
		r.forbidden(fmt.Sprintf("this server itself serves the group %q", s.Spec.Group), "spec", "service")
	}
}

func apiServiceStatus(r *report, s *apiregistrationv1.APIService) {
	r.add(validation.ValidateAPIServiceStatus(&internalAPIService(s).Status, r.path("status")))
}

// internalAPIService returns an APIService in the type of the functions that validate it.
func internalAPIService(s *apiregistrationv1.APIService) *apiregistration.APIService {
	internal := &apiregistration.APIService{}
	// The types differ only in whether the port is a pointer, so the conversion does not fail.
	_ = apiregistrationv1.Convert_v1_APIService_To_apiregistration_APIService(s.DeepCopy(), internal, nil)
	return internal
}
