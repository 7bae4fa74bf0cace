package defaults

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func mutatingWebhooks(c *admissionv1.MutatingWebhookConfiguration) {
	each(c.Webhooks, func(w *admissionv1.MutatingWebhook) {
		fillPtr(&w.FailurePolicy, admissionv1.Fail)
		fillPtr(&w.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
		fillPtr(&w.TimeoutSeconds, 10)
		match(&w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector)
		each(w.Rules, rule)
		client(&w.ClientConfig)
	})
}

func validatingWebhooks(c *admissionv1.ValidatingWebhookConfiguration) {
	each(c.Webhooks, func(w *admissionv1.ValidatingWebhook) {
		fillPtr(&w.FailurePolicy, admissionv1.Fail)
		fillPtr(&w.TimeoutSeconds, 10)
		match(&w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector)
		each(w.Rules, rule)
		client(&w.ClientConfig)
	})
}

func validatingPolicy(p *admissionv1.ValidatingAdmissionPolicy) {
	fillPtr(&p.Spec.FailurePolicy, admissionv1.Fail)
	matchResources(p.Spec.MatchConstraints)
}

func validatingBinding(b *admissionv1.ValidatingAdmissionPolicyBinding) {
	matchResources(b.Spec.MatchResources)
}

func mutatingPolicy(p *admissionv1.MutatingAdmissionPolicy) {
	fillPtr(&p.Spec.FailurePolicy, admissionv1.Fail)
	matchResources(p.Spec.MatchConstraints)
}

func mutatingBinding(b *admissionv1.MutatingAdmissionPolicyBinding) {
	matchResources(b.Spec.MatchResources)
}

// matchResources makes open selectors match everything: an absent one would match nothing, and fail.
func matchResources(m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	match(&m.MatchPolicy, &m.NamespaceSelector, &m.ObjectSelector)
	named := func(r *admissionv1.NamedRuleWithOperations) { rule(&r.RuleWithOperations) }
	each(m.ResourceRules, named)
	each(m.ExcludeResourceRules, named)
}

func match(policy **admissionv1.MatchPolicyType, namespaces, objects **metav1.LabelSelector) {
	fillPtr(policy, admissionv1.Equivalent)
	fillPtr(namespaces, metav1.LabelSelector{})
	fillPtr(objects, metav1.LabelSelector{})
}

func rule(r *admissionv1.RuleWithOperations) {
	fillPtr(&r.Scope, admissionv1.AllScopes)
}

func client(c *admissionv1.WebhookClientConfig) {
	if c.Service != nil {
		fillPtr(&c.Service.Port, 443)
	}
}
