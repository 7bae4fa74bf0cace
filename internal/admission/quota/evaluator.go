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

// requirement is one condition that an object must meet to count for a quota: a scope,
// or an expression of its scopeSelector.
type requirement = corev1.ScopedResourceSelectorRequirement

// evaluator computes the usage of objects of one evaluated kind: a kind for which the usage
// depends on the content of the object.
type evaluator struct {
	resource schema.GroupResource
	// handles reports whether a request may change the usage of an object.
	handles func(a admission.Attributes) bool
	// limitedBy reports whether objects of the kind have usage under a resource name.
	limitedBy func(name corev1.ResourceName) bool
	// usage returns the usage of an object.
	usage func(obj runtime.Object) (corev1.ResourceList, error)
	// inScope reports whether an object is in a scope. If it is nil, no object is.
	inScope func(obj runtime.Object, scope requirement) (bool, error)
	// constraints returns an error if an object does not specify what a quota with
	// these resource names requires. It may be nil.
	constraints func(obj runtime.Object, required []corev1.ResourceName) error
}

var _ quotav1.Evaluator = &evaluator{}

// newEvaluators returns the evaluators of this package.
func newEvaluators() []*evaluator {
	return []*evaluator{newPodEvaluator(), newServiceEvaluator(), newClaimEvaluator()}
}

// aliases are the resource names that limit the number of objects of some kinds. They
// are older than the names count/RESOURCE, which exist for all kinds.
var aliases = map[corev1.ResourceName]schema.GroupResource{
	corev1.ResourceConfigMaps:             corev1.Resource("configmaps"),
	corev1.ResourceSecrets:                corev1.Resource("secrets"),
	corev1.ResourceReplicationControllers: corev1.Resource("replicationcontrollers"),
	corev1.ResourceQuotas:                 corev1.Resource("resourcequotas"),
}

// evaluatorsByKind returns the evaluators of this package, and those of the kinds that
// have an alias.
func evaluatorsByKind() map[schema.GroupResource]quotav1.Evaluator {
	all := map[schema.GroupResource]quotav1.Evaluator{}
	for _, e := range newEvaluators() {
		all[e.resource] = e
	}
	for alias, resource := range aliases {
		all[resource] = generic.NewObjectCountEvaluator(resource, nil, alias)
	}
	return all
}

// GroupResource implements quotav1.Evaluator.
func (e *evaluator) GroupResource() schema.GroupResource { return e.resource }

// Handles implements quotav1.Evaluator.
func (e *evaluator) Handles(a admission.Attributes) bool { return e.handles(a) }

// Constraints implements quotav1.Evaluator.
func (e *evaluator) Constraints(required []corev1.ResourceName, item runtime.Object) error {
	if e.constraints == nil {
		return nil
	}
	return e.constraints(item, required)
}

// Matches implements quotav1.Evaluator.
func (e *evaluator) Matches(quota *corev1.ResourceQuota, item runtime.Object) (bool, error) {
	return generic.Matches(quota, item, e.MatchingResources, func(scope requirement, obj runtime.Object) (bool, error) {
		return e.matchesScope(obj, scope)
	})
}

func (e *evaluator) matchesScope(obj runtime.Object, scope requirement) (bool, error) {
	if e.inScope == nil {
		return false, nil
	}
	return e.inScope(obj, scope)
}

// MatchingScopes implements quotav1.Evaluator.
func (e *evaluator) MatchingScopes(item runtime.Object, scopes []requirement) ([]requirement, error) {
	var matching []requirement
	for _, scope := range scopes {
		match, err := e.matchesScope(item, scope)
		if err != nil {
			return nil, fmt.Errorf("scope %s: %w", scope.ScopeName, err)
		}
		if match {
			matching = append(matching, scope)
		}
	}
	return matching, nil
}

// UncoveredQuotaScopes implements quotav1.Evaluator. It returns none, because the server
// does not require a quota for any scope.
func (*evaluator) UncoveredQuotaScopes(_, _ []requirement) ([]requirement, error) { return nil, nil }

// MatchingResources implements quotav1.Evaluator.
func (e *evaluator) MatchingResources(names []corev1.ResourceName) []corev1.ResourceName {
	var matching []corev1.ResourceName
	for _, name := range names {
		if e.limitedBy(name) {
			matching = append(matching, name)
		}
	}
	return matching
}

// Usage implements quotav1.Evaluator.
func (e *evaluator) Usage(item runtime.Object) (corev1.ResourceList, error) { return e.usage(item) }

// UsageStats implements quotav1.Evaluator. It is not supported: admission does not need
// it, and the Ledger computes the sums.
func (e *evaluator) UsageStats(quotav1.UsageStatsOptions) (quotav1.UsageStats, error) {
	return quotav1.UsageStats{}, fmt.Errorf("sum of %s: %w", e.resource, errors.ErrUnsupported)
}

// scopesOf returns the scopes of a quota and the expressions of its scopeSelector.
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

// satisfies reports whether the classes that an object names match the operator and the
// values of a scope. An object may name none, one or several classes.
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
