package rbac

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
)

// Authorizer answers from the informers it was made with.
type Authorizer struct {
	roles               rbaclisters.RoleLister
	clusterRoles        rbaclisters.ClusterRoleLister
	roleBindings        cache.Indexer
	clusterRoleBindings cache.Indexer
	synced              []cache.InformerSynced
}

var (
	_ authorizer.Authorizer   = &Authorizer{}
	_ authorizer.RuleResolver = &Authorizer{}
)

// New returns an authorizer over the informers of a factory, to which it adds
// an index; it is called once per factory, before the factory starts. Until the
// informers have synced it knows of nobody's rights and allows nothing.
func New(informers rbacinformers.Interface) (*Authorizer, error) {
	bindings, clusterBindings := informers.RoleBindings().Informer(), informers.ClusterRoleBindings().Informer()
	for _, informer := range []cache.SharedIndexInformer{bindings, clusterBindings} {
		if err := informer.AddIndexers(subjectIndexers()); err != nil {
			return nil, fmt.Errorf("index bindings by subject: %w", err)
		}
	}
	return &Authorizer{
		roles:               informers.Roles().Lister(),
		clusterRoles:        informers.ClusterRoles().Lister(),
		roleBindings:        bindings.GetIndexer(),
		clusterRoleBindings: clusterBindings.GetIndexer(),
		synced: []cache.InformerSynced{
			informers.Roles().Informer().HasSynced, informers.ClusterRoles().Informer().HasSynced,
			bindings.HasSynced, clusterBindings.HasSynced,
		},
	}, nil
}

// HasSynced reports whether everything that is stored is known.
func (a *Authorizer) HasSynced() bool {
	for _, synced := range a.synced {
		if !synced() {
			return false
		}
	}
	return true
}

// Authorize implements authorizer.Authorizer: it allows what a grant covers and
// has no opinion on anything else. A grant whose role is missing is no error,
// and the reason tells of it.
func (a *Authorizer) Authorize(_ context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	if request.GetUser() == nil {
		return authorizer.DecisionNoOpinion, "", nil
	}
	namespace := ""
	if request.IsResourceRequest() {
		namespace = request.GetNamespace()
	}
	var missing []error
	for g := range a.grants(request.GetUser(), namespace) {
		rules, err := a.rules(g)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		if Allow(rules, request) {
			return authorizer.DecisionAllow, "RBAC: allowed by " + g.String(), nil
		}
	}
	if len(missing) > 0 {
		return authorizer.DecisionNoOpinion, fmt.Sprintf("RBAC: %v", utilerrors.NewAggregate(missing)), nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// ConditionsAwareAuthorize implements authorizer.Authorizer; no grant has
// conditions.
func (a *Authorizer) ConditionsAwareAuthorize(ctx context.Context, request authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, request))
}

// EvaluateConditions implements authorizer.Authorizer.
func (a *Authorizer) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

// RulesFor implements authorizer.RuleResolver: what the user may do in the
// namespace. An error comes with the rules that could be read.
func (a *Authorizer) RulesFor(_ context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	rules, err := a.held(u, namespace)
	var resources []authorizer.ResourceRuleInfo
	var paths []authorizer.NonResourceRuleInfo
	for _, rule := range rules {
		if len(rule.Resources) > 0 {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
			})
		}
		if len(rule.NonResourceURLs) > 0 {
			paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
		}
	}
	return resources, paths, false, err
}

// held are the rules of every grant of the user.
func (a *Authorizer) held(u user.Info, namespace string) ([]rbacv1.PolicyRule, error) {
	var all []rbacv1.PolicyRule
	var missing []error
	for g := range a.grants(u, namespace) {
		rules, err := a.rules(g)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		all = append(all, rules...)
	}
	return all, utilerrors.NewAggregate(missing)
}
