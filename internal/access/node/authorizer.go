package node

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/internal/access/policy"
)

// UsedByNode is a field that a node can use in a field selector: with its own name as
// the value, one list or watch over all namespaces selects the objects that it uses.
const UsedByNode = "holdfast.dev/used-by-node"

// Authorizer allows the requests of nodes that concern their own objects. It has no
// opinion on other requests and other users, so RBAC bindings can allow them.
type Authorizer struct {
	index     *Index
	relations *Relations
	// rules are those of the ClusterRole system:node.
	rules []rbacv1.PolicyRule
}

var (
	_ authorizer.Authorizer   = &Authorizer{}
	_ authorizer.RuleResolver = &Authorizer{}
)

// NewAuthorizer returns an authorizer that finds the pods of a node and the objects that they
// name in the index, and other objects of the node in relations.
func NewAuthorizer(index *Index, relations *Relations) *Authorizer {
	return &Authorizer{index: index, relations: relations, rules: policy.NodeRules()}
}

// Authorize implements authorizer.Authorizer.
func (n *Authorizer) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	name, isNode := NameOf(a.GetUser())
	if !isNode || !a.IsResourceRequest() {
		return authorizer.DecisionNoOpinion, "", nil
	}
	if name == "" {
		return authorizer.DecisionNoOpinion, fmt.Sprintf("unknown node for user %q", a.GetUser().GetName()), nil
	}
	if refusal := n.judge(name, a); refusal != "" {
		return authorizer.DecisionNoOpinion, refusal, nil
	}
	return authorizer.DecisionAllow, "", nil
}

// ConditionsAwareAuthorize implements authorizer.Authorizer.
func (n *Authorizer) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(n.Authorize(ctx, a))
}

// EvaluateConditions implements authorizer.Authorizer.
func (n *Authorizer) EvaluateConditions(
	context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData,
) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

// RulesFor implements authorizer.RuleResolver. For a node it returns an error and
// marks the rules as incomplete: what a node may do depends on its pods, and rules
// cannot express that.
func (n *Authorizer) RulesFor(
	_ context.Context, u user.Info, _ string,
) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	if _, isNode := NameOf(u); isNode {
		return nil, nil, true, fmt.Errorf("node authorizer does not support user rule resolution for user %q", u.GetName())
	}
	return nil, nil, false, nil
}
