package rules

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/util/webhook"
)

// reviewVersions are the versions of AdmissionReview that the server supports.
var reviewVersions = []string{"v1", "v1beta1"}

func webhookRules() []rule {
	return slices.Concat(
		hookRules[admissionv1.ValidatingWebhookConfiguration](
			func(w *admissionv1.ValidatingWebhook) (string, []admissionv1.MatchCondition) {
				return w.Name, w.MatchConditions
			}),
		hookRules[admissionv1.MutatingWebhookConfiguration](
			func(w *admissionv1.MutatingWebhook) (string, []admissionv1.MatchCondition) {
				return w.Name, w.MatchConditions
			}),
		hookPartRules(),
	)
}

// hookRules returns the rules for a configuration of type C and its webhooks of type W.
func hookRules[C, W any](fields func(*W) (name string, conditions []admissionv1.MatchCondition)) []rule {
	return []rule{
		onField[C]("webhooks", uniqueHooks(func(w W) string {
			name, _ := fields(&w)
			return name
		})),
		onField[W]("name", webhookName),
		onField[W]("timeoutSeconds", webhookTimeout),
		onField[W]("admissionReviewVersions", webhookVersions),
		require[W]("admissionReviewVersions", "must specify one of "+strings.Join(reviewVersions, ", ")),
		oneOf[W]("sideEffects", "None", "NoneOnDryRun"),
		require[W]("sideEffects", "must specify one of None, NoneOnDryRun"),
		onStruct(func(r *report, w *W) {
			_, conditions := fields(w)
			matchConditions(r, webhookCompiler(), conditions)
		}),
	}
}

// hookPartRules returns the rules for the parts that both types of webhooks have.
func hookPartRules() []rule {
	return []rule{
		onStruct(clientConfig),
		skip[admissionv1.WebhookClientConfig]("service"), // checked by clientConfig

		require[admissionv1.RuleWithOperations]("operations", ""),
		onField[admissionv1.RuleWithOperations]("operations", func(r *report, ops []admissionv1.OperationType) {
			if len(ops) > 1 && slices.Contains(ops, admissionv1.OperationAll) {
				r.invalid(ops, "if '*' is present, must not specify other operations")
			}
		}),
		require[admissionv1.Rule]("apiGroups", ""),
		onField[admissionv1.Rule]("apiGroups", wildcardAlone("API groups")),
		require[admissionv1.Rule]("apiVersions", ""),
		onField[admissionv1.Rule]("apiVersions", wildcardAlone("API versions"), eachItem(notEmptyString)),
		require[admissionv1.Rule]("resources", ""),
		onField[admissionv1.Rule]("resources", ruleResources),
	}
}

func uniqueHooks[W any](name func(W) string) func(*report, []W) {
	return func(r *report, hooks []W) {
		for i, h := range hooks {
			if n := name(h); n != "" && slices.ContainsFunc(hooks[:i], func(o W) bool { return name(o) == n }) {
				r.duplicate(n, i, "name")
			}
		}
	}
}

func webhookName(r *report, s string) {
	r.add(validation.IsFullyQualifiedName(r.path(), s))
}

func webhookTimeout(r *report, n int32) {
	if n < 1 || n > 30 {
		r.invalid(n, "the timeout value must be between 1 and 30 seconds")
	}
}

func webhookVersions(r *report, versions []string) {
	for i, v := range versions {
		if slices.Contains(versions[:i], v) {
			r.invalid(v, "duplicate version", i)
			continue
		}
		r.invalidAll(v, validation.IsDNS1035Label(v), i)
	}
	if len(versions) > 0 && !slices.ContainsFunc(versions, func(v string) bool { return slices.Contains(reviewVersions, v) }) {
		r.invalid(versions, "must include at least one of "+strings.Join(reviewVersions, ", "))
	}
}

func clientConfig(r *report, c *admissionv1.WebhookClientConfig) {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		r.required("exactly one of url or service is required")
	case c.URL != nil:
		r.add(webhook.ValidateWebhookURL(r.path("url"), *c.URL, true))
	default:
		port := int32(443)
		if c.Service.Port != nil {
			port = *c.Service.Port
		}
		r.add(webhook.ValidateWebhookService(r.path("service"), c.Service.Namespace, c.Service.Name, c.Service.Path, port))
	}
}

// wildcardAlone returns a check that a list with "*" has no other items.
func wildcardAlone(noun string) func(*report, []string) {
	return func(r *report, list []string) {
		if len(list) > 1 && slices.Contains(list, "*") {
			r.invalid(list, fmt.Sprintf("if '*' is present, must not specify other %s", noun))
		}
	}
}

// ruleResources rejects a resource after an entry with a wildcard that covers it.
func ruleResources(r *report, resources []string) {
	bare := false // the last entry without a subresource is no wildcard
	for i, s := range resources {
		if s == "" {
			r.required("", i)
			continue
		}
		resource, sub, slashed := strings.Cut(s, "/")
		if !slashed {
			bare = s != "*"
			continue
		}
		for _, wildcard := range []string{resource + "/*", "*/" + sub} {
			if slices.Contains(resources[:i], wildcard) {
				r.invalid(s, fmt.Sprintf("if '%s' is present, must not specify %s", wildcard, s), i)
			}
		}
	}
	if len(resources) > 1 && slices.Contains(resources, "*/*") {
		r.invalid(resources, "if '*/*' is present, must not specify other resources")
	}
	if bare && slices.Contains(resources, "*") {
		r.invalid(resources, "if '*' is present, must not specify other resources without subresources")
	}
}
