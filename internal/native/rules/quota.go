package rules

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

func quotaRules() []rule {
	return []rule{
		onField[corev1.ResourceQuotaSpec]("hard", quotaList),
		oneOf[corev1.ResourceQuotaSpec]("scopes"),
		onField[corev1.ResourceQuotaSpec]("scopes", quotaScopes),
		skip[corev1.ResourceQuotaSpec]("scopeSelector"), // checked by scopesFitResources
		onStruct(scopesFitResources),
	}
}

// quotaList checks the limits of a quota, or its usage in the status.
func quotaList(r *report, list corev1.ResourceList) {
	for _, name := range sortedNames(list) {
		r.under(func() { quotaResource(r, name); resourceQuantity(r, name, list[name]) }, key(name))
	}
}

// quotaResource checks that a quota can limit this resource. It has to be a resource of Kubernetes or have a domain prefix.
func quotaResource(r *report, name corev1.ResourceName) {
	resourceName(r, name)
	if !strings.Contains(string(name), "/") && !standardQuotaResource(name) {
		r.invalid(string(name), "must be a standard resource for quota")
	}
}

// standardQuotaResource reports whether a resource needs no domain prefix. Quotas can limit the requests of huge pages, but
// not their limits.
func standardQuotaResource(name corev1.ResourceName) bool {
	if strings.Contains(string(name), "/") {
		return false
	}
	if name == corev1.ResourceRequestsStorage || isCounted(name) {
		return true
	}
	if limited, ok := strings.CutPrefix(string(name), "limits."); ok {
		return standardContainerResource(corev1.ResourceName(limited)) && !strings.HasPrefix(limited, corev1.ResourceHugePagesPrefix)
	}
	return standardContainerResource(corev1.ResourceName(strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix)))
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
	conflictingScopes(r, scopes)
}

func conflictingScopes(r *report, scopes []corev1.ResourceQuotaScope) {
	both := func(a, b corev1.ResourceQuotaScope) bool {
		return slices.Contains(scopes, a) && slices.Contains(scopes, b)
	}
	if both(corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort) ||
		both(corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating) {
		r.invalid(scopes, "conflicting scopes")
	}
}

// podResources and computeResources can be limited with a scope for pods, claimResources with a scope for claims.
var (
	podResources     = []corev1.ResourceName{corev1.ResourcePods}
	computeResources = []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceRequestsCPU, corev1.ResourceLimitsCPU,
		corev1.ResourceMemory, corev1.ResourceRequestsMemory, corev1.ResourceLimitsMemory,
	}
	claimResources = []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage}
)

// scopeCovers reports whether a standard resource can be limited with a scope.
func scopeCovers(scope corev1.ResourceQuotaScope, name corev1.ResourceName) bool {
	switch scope {
	case corev1.ResourceQuotaScopeBestEffort:
		return slices.Contains(podResources, name)
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		return slices.Contains(claimResources, name)
	case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return slices.Contains(podResources, name) || slices.Contains(computeResources, name)
	default:
		return true
	}
}

func scopesFitResources(r *report, q *corev1.ResourceQuotaSpec) {
	for _, scope := range q.Scopes {
		r.under(func() { scopeFits(r, q.Hard, scope, q.Scopes) }, "scopes")
	}
	if q.ScopeSelector == nil {
		return
	}
	r.under(func() {
		var scopes []corev1.ResourceQuotaScope
		for _, requirement := range q.ScopeSelector.MatchExpressions {
			scopeFits(r, q.Hard, requirement.ScopeName, q.ScopeSelector)
			scopeRequirement(r, requirement)
			scopes = append(scopes, requirement.ScopeName)
		}
		conflictingScopes(r, scopes)
	}, "scopeSelector", "matchExpressions")
}

// scopeFits checks that a quota limits only resources that the scope has. value is the field with the scope.
func scopeFits(r *report, hard corev1.ResourceList, scope corev1.ResourceQuotaScope, value any) {
	for _, name := range sortedNames(hard) {
		if standardQuotaResource(name) && !scopeCovers(scope, name) {
			r.invalid(value, "unsupported scope applied to resource")
		}
	}
}

// scopeRequirement checks one expression of a scope selector. As in Kubernetes, the path of an error has no index.
func scopeRequirement(r *report, q corev1.ScopedResourceSelectorRequirement) {
	known := slices.Contains(knownScopes, q.ScopeName)
	if !known {
		r.invalid(q.ScopeName, "unsupported scope", "scopeName")
	}
	// Only scopes for classes accept values, the names of classes.
	classes := q.ScopeName == corev1.ResourceQuotaScopePriorityClass || q.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass
	if known && !classes && q.Operator != corev1.ScopeSelectorOpExists {
		r.invalid(q.Operator, "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "+
			"ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity", "operator")
	}
	switch q.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(q.Values) == 0 {
			r.required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector", "values")
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		if len(q.Values) > 0 {
			r.invalid(q.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector", "values")
		}
	default:
		r.invalid(q.Operator, "not a valid selector operator", "operator")
	}
}
