package columns

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
)

const webhooksDoc = "How many webhooks the configuration has"

var mutatingWebhooks = table(name,
	number("Webhooks", webhooksDoc, func(c *admissionv1.MutatingWebhookConfiguration) int { return len(c.Webhooks) }),
	age)

var validatingWebhooks = table(name,
	number("Webhooks", webhooksDoc, func(c *admissionv1.ValidatingWebhookConfiguration) int { return len(c.Webhooks) }),
	age)

const (
	paramKindDoc  = "The kind of the policy's parameters"
	policyNameDoc = "The policy that the binding puts in force"
	paramRefDoc   = "The object that holds the policy's parameters"
)

var validatingPolicies = table(name,
	number("Validations", "How many validations the policy has",
		func(p *admissionv1.ValidatingAdmissionPolicy) int { return len(p.Spec.Validations) }),
	text("ParamKind", paramKindDoc, func(p *admissionv1.ValidatingAdmissionPolicy) string { return paramKind(p.Spec.ParamKind) }),
	age)

var validatingBindings = table(name,
	text("PolicyName", policyNameDoc, func(b *admissionv1.ValidatingAdmissionPolicyBinding) string { return b.Spec.PolicyName }),
	text("ParamRef", paramRefDoc, func(b *admissionv1.ValidatingAdmissionPolicyBinding) string { return paramRef(b.Spec.ParamRef) }),
	age)

var mutatingPolicies = table(name,
	number("Mutations", "How many mutations the policy has",
		func(p *admissionv1.MutatingAdmissionPolicy) int { return len(p.Spec.Mutations) }),
	text("ParamKind", paramKindDoc, func(p *admissionv1.MutatingAdmissionPolicy) string { return paramKind(p.Spec.ParamKind) }),
	age)

var mutatingBindings = table(name,
	text("PolicyName", policyNameDoc, func(b *admissionv1.MutatingAdmissionPolicyBinding) string { return b.Spec.PolicyName }),
	text("ParamRef", paramRefDoc, func(b *admissionv1.MutatingAdmissionPolicyBinding) string { return paramRef(b.Spec.ParamRef) }),
	age)

func paramKind(k *admissionv1.ParamKind) string {
	if k == nil {
		return unset
	}
	return k.APIVersion + "/" + k.Kind
}

// paramRef prints "*" for a missing namespace: the binding does not tell whether the kind of the parameters is namespaced.
func paramRef(r *admissionv1.ParamRef) string {
	switch {
	case r == nil:
		return unset
	case r.Name != "":
		return stringOr(r.Namespace, "*") + "/" + r.Name
	case r.Selector != nil:
		return r.Selector.String()
	}
	return unset
}
