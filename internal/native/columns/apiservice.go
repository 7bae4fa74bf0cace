package columns

import (
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
)

var apiServices = table(name,
	text("Service", "The reference to the service that hosts this API endpoint.", func(s *apiregistrationv1.APIService) string {
		if s.Spec.Service == nil {
			return "Local"
		}
		return s.Spec.Service.Namespace + "/" + s.Spec.Service.Name
	}),
	text("Available", "Whether this service is available.", func(s *apiregistrationv1.APIService) string {
		condition := helper.GetAPIServiceConditionByType(s, apiregistrationv1.Available)
		switch {
		case condition == nil:
			return string(apiregistrationv1.ConditionUnknown)
		case condition.Status == apiregistrationv1.ConditionTrue || condition.Reason == "":
			return string(condition.Status)
		}
		return string(condition.Status) + " (" + condition.Reason + ")"
	}),
	age)
