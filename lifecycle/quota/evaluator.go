package quota

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
)

// requirement is one condition of a quota's scopes.
type requirement = corev1.ScopedResourceSelectorRequirement

// measure evaluates a kind whose objects are more than their number.
type measure struct {
	resource schema.GroupResource
	// charged tells the requests that may change the use of an object.
	charged func(a admission.Attributes) bool
	// names tells the names under which objects of the kind count.
	names func(name corev1.ResourceName) bool
	// use is what an object counts for.
	use func(obj runtime.Object) (corev1.ResourceList, error)
	// within tells whether an object is in a scope; nil: never.
	within func(obj runtime.Object, scope requirement) (bool, error)
	// lacks says what an object must specify under a quota; nil: nothing.
	lacks func(obj runtime.Object, required []corev1.ResourceName) error
}

var _ quotav1.Evaluator = &measure{}

// measures are the kinds that are measured.
func measures() []*measure { return []*measure{pods(), services(), claims()} }

// aliases are the names under which kinds were counted before there were names
// for all kinds.
var aliases = map[corev1.ResourceName]schema.GroupResource{
	corev1.ResourceConfigMaps:             corev1.Resource("configmaps"),
	corev1.ResourceSecrets:                corev1.Resource("secrets"),
	corev1.ResourceReplicationControllers: corev1.Resource("replicationcontrollers"),
	corev1.ResourceQuotas:                 corev1.Resource("resourcequotas"),
}

// evaluators are all that are not made by rule: the measures, and the kinds that
// have an alias.
func evaluators() map[schema.GroupResource]quotav1.Evaluator {
	all := map[schema.GroupResource]quotav1.Evaluator{}
	for _, m := range measures() {
		all[m.resource] = m
	}
	for alias, resource := range aliases {
		all[resource] = generic.NewObjectCountEvaluator(resource, nil, alias)
	}
	return all
}

// GroupResource implements quotav1.Evaluator.
func (m *measure) GroupResource() schema.GroupResource { return m.resource }

// Handles implements quotav1.Evaluator.
func (m *measure) Handles(a admission.Attributes) bool { return m.charged(a) }

// Constraints implements quotav1.Evaluator.
func (m *measure) Constraints(required []corev1.ResourceName, item runtime.Object) error {
	if m.lacks == nil {
		return nil
	}
	return m.lacks(item, required)
}

// Matches implements quotav1.Evaluator.
func (m *measure) Matches(quota *corev1.ResourceQuota, item runtime.Object) (bool, error) {
	return generic.Matches(quota, item, m.MatchingResources, func(scope requirement, obj runtime.Object) (bool, error) {
		return m.scoped(obj, scope)
	})
}

func (m *measure) scoped(obj runtime.Object, scope requirement) (bool, error) {
	if m.within == nil {
		return false, nil
	}
	return m.within(obj, scope)
}

// MatchingScopes implements quotav1.Evaluator.
func (m *measure) MatchingScopes(item runtime.Object, scopes []requirement) ([]requirement, error) {
	var matching []requirement
	for _, scope := range scopes {
		match, err := m.scoped(item, scope)
		if err != nil {
			return nil, fmt.Errorf("scope %s: %w", scope.ScopeName, err)
		}
		if match {
			matching = append(matching, scope)
		}
	}
	return matching, nil
}

// UncoveredQuotaScopes implements quotav1.Evaluator. No scope is limited
// without a quota.
func (*measure) UncoveredQuotaScopes(_, _ []requirement) ([]requirement, error) { return nil, nil }

// MatchingResources implements quotav1.Evaluator.
func (m *measure) MatchingResources(names []corev1.ResourceName) []corev1.ResourceName {
	var matching []corev1.ResourceName
	for _, name := range names {
		if m.names(name) {
			matching = append(matching, name)
		}
	}
	return matching
}

// Usage implements quotav1.Evaluator.
func (m *measure) Usage(item runtime.Object) (corev1.ResourceList, error) { return m.use(item) }

// UsageStats implements quotav1.Evaluator. Admission has no need of it: the
// ledger keeps the sums.
func (m *measure) UsageStats(quotav1.UsageStatsOptions) (quotav1.UsageStats, error) {
	return quotav1.UsageStats{}, fmt.Errorf("sum of %s: %w", m.resource, errors.ErrUnsupported)
}

// scopesOf are all conditions of a quota.
func scopesOf(quota *corev1.ResourceQuota) []requirement {
	var scopes []requirement
	for _, scope := range quota.Spec.Scopes {
		scopes = append(scopes, requirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists})
	}
	if quota.Spec.ScopeSelector != nil {
		scopes = append(scopes, quota.Spec.ScopeSelector.MatchExpressions...)
	}
	return scopes
}

// satisfies reports whether one of the classes an object names is what a scope
// asks for; an object may name none.
func satisfies(scope requirement, classes ...string) bool {
	listed := slices.ContainsFunc(classes, func(class string) bool { return slices.Contains(scope.Values, class) })
	switch scope.Operator {
	case corev1.ScopeSelectorOpExists:
		return len(classes) > 0
	case corev1.ScopeSelectorOpDoesNotExist:
		return len(classes) == 0
	case corev1.ScopeSelectorOpIn:
		return listed
	case corev1.ScopeSelectorOpNotIn:
		return len(classes) == 0 ||
			slices.ContainsFunc(classes, func(class string) bool { return !slices.Contains(scope.Values, class) })
	default:
		return false
	}
}

func number(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }
