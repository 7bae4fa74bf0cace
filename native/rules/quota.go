package rules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

func quotaRules() []rule {
	return []rule{
		on[corev1.ResourceQuotaSpec]("hard", func(r *report, list corev1.ResourceList) {
			for _, name := range sortedNames(list) {
				r.under(func() { quotaResource(r, name); quantity(r, list[name]) }, key(name))
				if countsObjects(name) && !whole(list[name]) {
					r.invalid(list[name], "must be an integer", key(name))
				}
			}
		}),
		oneOf[corev1.ResourceQuotaSpec]("scopes"),
		on[corev1.ResourceQuotaSpec]("scopes", quotaScopes),
		oneOf[corev1.ScopedResourceSelectorRequirement]("scopeName"),
		oneOf[corev1.ScopedResourceSelectorRequirement]("operator"),
		each(scopeRequirement),

		free[corev1.LimitRangeSpec]("limits"),
		on[corev1.LimitRangeSpec]("limits", func(r *report, limits []corev1.LimitRangeItem) {
			for i, l := range limits {
				if slices.ContainsFunc(limits[:i], func(o corev1.LimitRangeItem) bool { return o.Type == l.Type }) {
					r.duplicate(string(l.Type), i, "type")
				}
			}
		}),
		on[corev1.LimitRangeItem]("type", text[corev1.LimitType](validation.IsQualifiedName)),
		each(limitRange),
	}
}

// quotaResource is a resource that can be limited: one of Kubernetes', or one with a domain.
func quotaResource(r *report, name corev1.ResourceName) {
	s := string(name)
	if messages := validation.IsQualifiedName(s); len(messages) > 0 {
		r.says(s, messages)
		return
	}
	base := strings.TrimPrefix(strings.TrimPrefix(s, "requests."), "limits.")
	storage := name == corev1.ResourceRequestsStorage
	if !strings.Contains(s, "/") && !storage && !standardContainerResource(corev1.ResourceName(base)) && !countsObjects(name) {
		r.invalid(s, "must be a standard resource for quota")
	}
}

var knownScopes = []corev1.ResourceQuotaScope{
	corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating,
	corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort,
	corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity,
	corev1.ResourceQuotaScopeVolumeAttributesClass,
}

func quotaScopes(r *report, scopes []corev1.ResourceQuotaScope) {
	for _, s := range scopes {
		if !slices.Contains(knownScopes, s) {
			r.invalid(scopes, "unsupported scope")
		}
	}
	both := func(a, b corev1.ResourceQuotaScope) bool {
		return slices.Contains(scopes, a) && slices.Contains(scopes, b)
	}
	if both(corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort) ||
		both(corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating) {
		r.invalid(scopes, "conflicting scopes")
	}
}

func scopeRequirement(r *report, q *corev1.ScopedResourceSelectorRequirement) {
	if q.ScopeName != "" && !slices.Contains(knownScopes, q.ScopeName) {
		r.invalid(q.ScopeName, "unsupported scope", "scopeName")
	}
	switch q.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(q.Values) == 0 {
			r.required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector", "values")
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		if len(q.Values) > 0 {
			r.invalid(q.Values, "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector", "values")
		}
	case "":
	default:
		r.invalid(q.Operator, "not a valid selector operator", "operator")
	}
}

// countsObjects tells the resources that are a number of things.
func countsObjects(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourcePods, corev1.ResourceServices, corev1.ResourceReplicationControllers, corev1.ResourceQuotas,
		corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
		corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
		return true
	default:
		return strings.HasPrefix(string(name), "count/")
	}
}

// limitOrder is what must not be greater than what, where it is said, and in which words.
var limitOrder = []struct{ lower, upper, at, detail string }{
	{"min", "max", "min", "min value %s is greater than max value %s"},
	{"min", "defaultRequest", "defaultRequest", "min value %s is greater than default request value %s"},
	{"defaultRequest", "max", "defaultRequest", "default request value %s is greater than max value %s"},
	{"defaultRequest", "default", "defaultRequest", "default request value %s is greater than default limit value %s"},
	{"min", "default", "default", "min value %s is greater than default value %s"},
	{"default", "max", "max", "default value %s is greater than max value %s"},
}

func limitRange(r *report, l *corev1.LimitRangeItem) {
	limitType(r, l)
	names := map[corev1.ResourceName]bool{}
	lists := map[string]corev1.ResourceList{
		"max": l.Max, "min": l.Min, "default": l.Default, "defaultRequest": l.DefaultRequest, "maxLimitRequestRatio": l.MaxLimitRequestRatio,
	}
	for _, field := range sortedKeys(lists) {
		for _, name := range sortedNames(lists[field]) {
			r.says(string(name), validation.IsQualifiedName(string(name)), field, key(name))
			names[name] = true
		}
	}
	for _, name := range sortedNames(names) {
		for _, o := range limitOrder {
			low, hasLow := lists[o.lower][name]
			high, hasHigh := lists[o.upper][name]
			if hasLow && hasHigh && low.Cmp(high) > 0 {
				r.invalid(lists[o.at][name], fmt.Sprintf(o.detail, low.String(), high.String()), o.at, key(name))
			}
		}
		ratio, ok := l.MaxLimitRequestRatio[name]
		if ok && ratio.Cmp(resource.MustParse("1")) < 0 {
			r.invalid(ratio, fmt.Sprintf("ratio %s is less than 1", ratio.String()), "maxLimitRequestRatio", key(name))
		}
	}
}

func limitType(r *report, l *corev1.LimitRangeItem) {
	switch l.Type {
	case corev1.LimitTypePod:
		if len(l.Default) > 0 {
			r.forbidden("may not be specified when `type` is 'Pod'", "default")
		}
		if len(l.DefaultRequest) > 0 {
			r.forbidden("may not be specified when `type` is 'Pod'", "defaultRequest")
		}
	case corev1.LimitTypePersistentVolumeClaim:
		_, low := l.Min[corev1.ResourceStorage]
		_, high := l.Max[corev1.ResourceStorage]
		if !low && !high {
			r.required("either minimum or maximum storage value is required, but neither was provided", "limits")
		}
	}
}
