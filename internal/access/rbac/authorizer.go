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

// Authorizer authorizes requests by the Roles, ClusterRoles and bindings in its
// informers. It is safe for concurrent use.
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

// New returns an authorizer that reads the informers of a factory. It adds an
// index to the informers of bindings, so call it once per factory and before the
// factory starts. Until the informers have synced, the authorizer finds no
// bindings and allows nothing.
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

// HasSynced reports whether all informers have synced.
func (a *Authorizer) HasSynced() bool {
	for _, synced := range a.synced {
		if !synced() {
			return false
		}
	}
	return true
}

// Authorize implements authorizer.Authorizer. It allows a request that a rule of
// one of the user's bindings matches and has no opinion on all others. A binding
// to a missing role is not an error; the reason mentions it.
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

// ConditionsAwareAuthorize implements authorizer.Authorizer. RBAC has no
// conditions, so it is the same as Authorize.
func (a *Authorizer) ConditionsAwareAuthorize(ctx context.Context, request authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, request))
}

// EvaluateConditions implements authorizer.Authorizer.
func (a *Authorizer) EvaluateConditions(
	context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData,
) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

// RulesFor implements authorizer.RuleResolver. It returns the rules that apply to
// the user in the namespace. If a binding's role is missing, it returns an error
// together with the rules of the other bindings.
func (a *Authorizer) RulesFor(
	_ context.Context, u user.Info, namespace string,
) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	rules, err := a.UserRules(u, namespace)
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

// UserRules returns the rules of all bindings of the user, and an error that
// lists the bindings without a readable role.
func (a *Authorizer) UserRules(u user.Info, namespace string) ([]rbacv1.PolicyRule, error) {
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
