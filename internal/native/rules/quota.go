package rules

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func quotaRules() []rule {
	return []rule{
		onField[corev1.ResourceQuotaSpec]("hard", quotaList),
		oneOf[corev1.ResourceQuotaSpec]("scopes"),
		onField[corev1.ResourceQuotaSpec]("scopes", quotaScopes),
		oneOf[corev1.ScopedResourceSelectorRequirement]("scopeName"),
		oneOf[corev1.ScopedResourceSelectorRequirement]("operator"),
		onStruct(scopeRequirement),
		onStruct(scopesFitResources),
	}
}

// quotaList checks the limits of a quota, or its usage in the status.
func quotaList(r *report, list corev1.ResourceList) {
	for _, name := range sortedNames(list) {
		r.under(func() { quotaResource(r, name); quantity(r, list[name]) }, key(name))
		if isObjectCount(name) && !isInteger(list[name]) {
			r.invalid(list[name], "must be an integer", key(name))
		}
	}
}

// quotaResource checks that a quota can limit this resource. It has to be a resource of Kubernetes or have a domain prefix.
func quotaResource(r *report, name corev1.ResourceName) {
	s := string(name)
	if messages := validation.IsQualifiedName(s); len(messages) > 0 {
		r.invalidAll(s, messages)
		return
	}
	if strings.Contains(s, "/") {
		return
	}
	if !standardResource(name) {
		r.invalid(s, "must be a standard resource type or fully qualified")
	}
	if !standardQuotaResource(name) {
		r.invalid(s, "must be a standard resource for quota")
	}
}

// standardQuotaResource reports whether a resource needs no domain prefix. Quotas can limit the requests of huge pages, but
// not their limits.
func standardQuotaResource(name corev1.ResourceName) bool {
	if name == corev1.ResourceRequestsStorage || isObjectCount(name) {
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
	var selected []corev1.ScopedResourceSelectorRequirement
	if q.ScopeSelector != nil {
		selected = q.ScopeSelector.MatchExpressions
	}
	for _, name := range sortedNames(q.Hard) {
		if strings.Contains(string(name), "/") || !standardQuotaResource(name) {
			continue
		}
		for _, scope := range q.Scopes {
			if !scopeCovers(scope, name) {
				r.invalid(q.Scopes, "unsupported scope applied to resource", "scopes")
			}
		}
		for i, requirement := range selected {
			if !scopeCovers(requirement.ScopeName, name) {
				r.invalid(requirement.ScopeName, "unsupported scope applied to resource", "scopeSelector", "matchExpressions", i, "scopeName")
			}
		}
	}
	var scopes []corev1.ResourceQuotaScope
	for _, requirement := range selected {
		scopes = append(scopes, requirement.ScopeName)
	}
	r.under(func() { conflictingScopes(r, scopes) }, "scopeSelector", "matchExpressions")
}

func scopeRequirement(r *report, q *corev1.ScopedResourceSelectorRequirement) {
	if q.ScopeName != "" && !slices.Contains(knownScopes, q.ScopeName) {
		r.invalid(q.ScopeName, "unsupported scope", "scopeName")
	}
	// Only scopes for classes accept values, the names of classes.
	classes := q.ScopeName == corev1.ResourceQuotaScopePriorityClass || q.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass
	if slices.Contains(knownScopes, q.ScopeName) && !classes && q.Operator != corev1.ScopeSelectorOpExists {
		r.invalid(q.Operator, "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "+
			"ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity", "operator")
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

// isObjectCount reports whether a resource is a number of objects.
func isObjectCount(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourcePods, corev1.ResourceServices, corev1.ResourceReplicationControllers, corev1.ResourceQuotas,
		corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
		corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
		return true
	default:
		return strings.HasPrefix(string(name), "count/")
	}
}
