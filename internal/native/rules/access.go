package rules

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func accessRules() []rule {
	return []rule{
		require[rbacv1.PolicyRule]("verbs", "verbs must contain at least one value"),
		onStruct(policyRule),
		onField[rbacv1.Role]("rules", func(r *report, rules []rbacv1.PolicyRule) {
			for i, rule := range rules {
				if len(rule.NonResourceURLs) > 0 {
					r.invalid(rule.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs", i, "nonResourceURLs")
				}
			}
		}),
		require[rbacv1.AggregationRule]("clusterRoleSelectors", "at least one clusterRoleSelector required if aggregationRule is non-nil"),
		onField[rbacv1.AggregationRule]("clusterRoleSelectors", func(r *report, selectors []metav1.LabelSelector) {
			for i := range selectors {
				if _, err := metav1.LabelSelectorAsSelector(&selectors[i]); err != nil {
					r.invalid(selectors[i], "invalid label selector.", i)
				}
			}
		}),

		notRequired[rbacv1.RoleRef]("kind"),
		onField[rbacv1.RoleRef]("apiGroup", func(r *report, group string) {
			if group != rbacv1.GroupName {
				r.unsupported(group, []string{rbacv1.GroupName})
			}
		}),
		onField[rbacv1.RoleRef]("name", validString[string](content.IsPathSegmentName)),
		onStruct(func(r *report, b *rbacv1.RoleBinding) { roleKind(r, b.RoleRef.Kind, "ClusterRole", "Role") }),
		onStruct(func(r *report, b *rbacv1.ClusterRoleBinding) { roleKind(r, b.RoleRef.Kind, "ClusterRole") }),

		notRequired[rbacv1.Subject]("kind"),
		onStruct(subject),
		onField[rbacv1.ClusterRoleBinding]("subjects", func(r *report, subjects []rbacv1.Subject) {
			for i, s := range subjects {
				if s.Kind == rbacv1.ServiceAccountKind && s.Namespace == "" {
					r.required("", i, "namespace")
				}
			}
		}),

		require[certificatesv1.CertificateSigningRequestSpec]("usages", ""),
		onField[certificatesv1.CertificateSigningRequestSpec]("signerName", signerName),
		notRequired[certificatesv1.CertificateSigningRequestSpec]("request"),
		onField[certificatesv1.CertificateSigningRequestSpec]("request", certificateRequest),
		onField[certificatesv1.CertificateSigningRequestSpec]("expirationSeconds", func(r *report, n int32) {
			if n < 600 {
				r.invalid(n, "may not specify a duration less than 600 seconds (10 minutes)")
			}
		}),
	}
}

// policyRule checks that a rule is either for resources or for non-resource URLs.
func policyRule(r *report, p *rbacv1.PolicyRule) {
	if len(p.NonResourceURLs) > 0 {
		if len(p.APIGroups)+len(p.Resources)+len(p.ResourceNames) > 0 {
			r.invalid(p.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs", "nonResourceURLs")
		}
		return
	}
	if len(p.APIGroups) == 0 {
		r.required("resource rules must supply at least one api group", "apiGroups")
	}
	if len(p.Resources) == 0 {
		r.required("resource rules must supply at least one resource", "resources")
	}
}

func roleKind(r *report, kind string, supported ...string) {
	if !slices.Contains(supported, kind) {
		r.unsupported(kind, supported, "roleRef", "kind")
	}
}

func subject(r *report, s *rbacv1.Subject) {
	group := func(want string) {
		if s.APIGroup != want {
			r.unsupported(s.APIGroup, []string{want}, "apiGroup")
		}
	}
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		if s.Name != "" {
			r.invalidAll(s.Name, apivalidation.ValidateServiceAccountName(s.Name, false), "name")
		}
		group("")
	case rbacv1.UserKind, rbacv1.GroupKind:
		group(rbacv1.GroupName)
	default:
		r.unsupported(s.Kind, []string{rbacv1.GroupKind, rbacv1.ServiceAccountKind, rbacv1.UserKind}, "kind")
	}
}

func certificateRequest(r *report, request []byte) {
	block, _ := pem.Decode(request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		r.invalid(request, "PEM block type must be CERTIFICATE REQUEST")
		return
	}
	if _, err := x509.ParseCertificateRequest(block.Bytes); err != nil {
		r.invalid(request, fmt.Sprint(err))
	}
}
