package defaults

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func mutatingWebhooks(c *admissionv1.MutatingWebhookConfiguration) {
	forEach(c.Webhooks, func(w *admissionv1.MutatingWebhook) {
		setDefaultPtr(&w.FailurePolicy, admissionv1.Fail)
		setDefaultPtr(&w.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
		setDefaultPtr(&w.TimeoutSeconds, 10)
		match(&w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector)
		forEach(w.Rules, rule)
		client(&w.ClientConfig)
	})
}

func validatingWebhooks(c *admissionv1.ValidatingWebhookConfiguration) {
	forEach(c.Webhooks, func(w *admissionv1.ValidatingWebhook) {
		setDefaultPtr(&w.FailurePolicy, admissionv1.Fail)
		setDefaultPtr(&w.TimeoutSeconds, 10)
		match(&w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector)
		forEach(w.Rules, rule)
		client(&w.ClientConfig)
	})
}

func validatingPolicy(p *admissionv1.ValidatingAdmissionPolicy) {
	setDefaultPtr(&p.Spec.FailurePolicy, admissionv1.Fail)
	matchResources(p.Spec.MatchConstraints)
}

func validatingBinding(b *admissionv1.ValidatingAdmissionPolicyBinding) {
	matchResources(b.Spec.MatchResources)
}

func mutatingPolicy(p *admissionv1.MutatingAdmissionPolicy) {
	setDefaultPtr(&p.Spec.FailurePolicy, admissionv1.Fail)
	matchResources(p.Spec.MatchConstraints)
}

func mutatingBinding(b *admissionv1.MutatingAdmissionPolicyBinding) {
	matchResources(b.Spec.MatchResources)
}

// matchResources sets missing selectors to empty ones, which match all objects. Missing selectors would match none.
func matchResources(m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	match(&m.MatchPolicy, &m.NamespaceSelector, &m.ObjectSelector)
	named := func(r *admissionv1.NamedRuleWithOperations) { rule(&r.RuleWithOperations) }
	forEach(m.ResourceRules, named)
	forEach(m.ExcludeResourceRules, named)
}

func match(policy **admissionv1.MatchPolicyType, namespaces, objects **metav1.LabelSelector) {
	setDefaultPtr(policy, admissionv1.Equivalent)
	setDefaultPtr(namespaces, metav1.LabelSelector{})
	setDefaultPtr(objects, metav1.LabelSelector{})
}

func rule(r *admissionv1.RuleWithOperations) {
	setDefaultPtr(&r.Scope, admissionv1.AllScopes)
}

func client(c *admissionv1.WebhookClientConfig) {
	if c.Service != nil {
		setDefaultPtr(&c.Service.Port, 443)
	}
}
