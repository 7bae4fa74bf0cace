package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// nameRule returns the validator for the name of an object. Most names have to be DNS subdomains.
func nameRule(obj runtime.Object) apivalidation.ValidateNameFunc {
	switch obj := obj.(type) {
	case *corev1.Namespace, *appsv1.StatefulSet, *corev1.Service:
		return apivalidation.NameIsDNSLabel
	case *batchv1.CronJob:
		return cronJobName
	case *networkingv1.IPAddress:
		return addressName
	case *certificatesv1.ClusterTrustBundle:
		return trustBundleName(obj.Spec.SignerName)
	case *apiregistrationv1.APIService, *certificatesv1.CertificateSigningRequest:
		return anyName
	case *corev1.Event, *policyv1.PodDisruptionBudget,
		*rbacv1.Role, *rbacv1.RoleBinding, *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding:
		return pathSegment
	default:
		return apivalidation.NameIsDNSSubdomain
	}
}

// anyName accepts every name. The rules of an APIService compare its name with its spec. Kubernetes does not check the name of
// a CertificateSigningRequest.
func anyName(string, bool) []string { return nil }

// pathSegment accepts any name that can be one segment of a URL path.
func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// cronJobName accepts at most 52 characters: the controller appends 11 more for the name of a Job.
func cronJobName(name string, prefix bool) []string {
	messages := apivalidation.NameIsDNSSubdomain(name, prefix)
	if !prefix && len(name) > 52 {
		messages = append(messages, "must be no more than 52 characters")
	}
	return messages
}

// addressName accepts an IP address in its canonical form.
func addressName(name string, _ bool) []string {
	var messages []string
	for _, err := range validation.IsValidIP(nil, name) {
		messages = append(messages, err.Detail)
	}
	return messages
}
