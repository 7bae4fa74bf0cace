package rules

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
)

// nameRule returns the validator for the names of a kind. Most names have to be DNS subdomains.
func nameRule(t reflect.Type) apivalidation.ValidateNameFunc {
	switch t {
	case reflect.TypeFor[corev1.Namespace](), reflect.TypeFor[appsv1.StatefulSet]():
		return apivalidation.NameIsDNSLabel
	case reflect.TypeFor[corev1.Service]():
		return apivalidation.NameIsDNS1035Label
	case reflect.TypeFor[batchv1.CronJob]():
		return cronJobName
	case reflect.TypeFor[networkingv1.IPAddress]():
		return addressName
	case reflect.TypeFor[corev1.Event](),
		reflect.TypeFor[certificatesv1.CertificateSigningRequest](),
		reflect.TypeFor[policyv1.PodDisruptionBudget](),
		reflect.TypeFor[rbacv1.Role](), reflect.TypeFor[rbacv1.RoleBinding](),
		reflect.TypeFor[rbacv1.ClusterRole](), reflect.TypeFor[rbacv1.ClusterRoleBinding]():
		return pathSegment
	default:
		return apivalidation.NameIsDNSSubdomain
	}
}

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
