package console

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/policies"
)

// Condition says when a rule holds, and which user can break it.
type Condition struct {
	// While is the CEL expression about the stored object, empty for a rule that always holds.
	While string `json:"while,omitempty"`
	// Open means that the expression is false for the object, so that the rule does not hold now.
	Open bool `json:"open,omitempty"`
	// Unclear says why the expression could not be evaluated. The rule holds then.
	Unclear string `json:"unclear,omitempty"`
	// Unless is the verb with which a user can break the rule, empty if no user can. May means that the user of the request has it.
	Unless string `json:"unless,omitempty"`
	May    bool   `json:"may,omitempty"`
}

// Kept is a reason for which the object cannot be deleted.
type Kept struct {
	Why string `json:"why"`
	// Warns means that the server only warns about the deletion.
	Warns bool `json:"warns,omitempty"`
	Condition
}

// subject is the object of a report, and the user that asks for it.
type subject struct {
	of  schema.GroupVersionResource
	obj unstructured.Unstructured
	// rights is nil if nothing is known about the rights of users.
	rights authorizer.UnconditionalAuthorizer
}

// may reports whether the user of the request has a verb on the object. An error counts as no.
func (s subject) may(ctx context.Context, verb string) bool {
	user, found := request.UserFrom(ctx)
	if !found || s.rights == nil {
		return false
	}
	// As in requests, the namespace of a Namespace is itself.
	namespace := s.obj.GetNamespace()
	if s.of.GroupResource() == (schema.GroupResource{Resource: "namespaces"}) {
		namespace = s.obj.GetName()
	}
	answer, _, err := s.rights.Authorize(ctx, authorizer.AttributesRecord{
		User: user, Verb: verb, ResourceRequest: true, Namespace: namespace, Name: s.obj.GetName(),
		APIGroup: s.of.Group, APIVersion: s.of.Version, Resource: s.of.Resource,
	})
	return err == nil && answer == authorizer.DecisionAllow
}

// condition returns the condition of a rule, which is nil if the rule has none. holds evaluates the expression.
func (s subject) condition(ctx context.Context, m *immutability.Mark, holds func(expression string) (bool, error)) Condition {
	if m == nil {
		return Condition{}
	}
	c := Condition{While: m.While, Unless: m.Unless, May: m.Unless != "" && s.may(ctx, m.Unless)}
	if m.While != "" {
		isTrue, err := holds(m.While)
		if c.Open = err == nil && !isTrue; err != nil {
			c.Unclear = err.Error()
		}
	}
	return c
}

// addPolicies adds the locks of policies, and what keeps the object from being deleted.
func (s Sources) addPolicies(ctx context.Context, r *Report, about subject) error {
	if value := keep.InForce(about.of.GroupResource(), &about.obj); value != "" {
		why := fmt.Sprintf("the annotation %s: %s", keep.Annotation, value)
		if value == keep.WhileObjects {
			why += ", while it holds objects"
		}
		r.Kept = append(r.Kept, Kept{Why: why, Condition: Condition{Unless: keep.Verb, May: about.may(ctx, keep.Verb)}})
	}
	found, err := s.Policies.Explain(ctx, about.of, about.obj.Object)
	if err != nil {
		return fmt.Errorf("read policies: %w", err)
	}
	for _, e := range found {
		for _, lock := range e.Locks {
			shown := newLock(lock, reasonPolicy, fmt.Sprintf("the rule %q of policy %s", ruleText(lock), e.Policy))
			shown.Condition, shown.Warns = about.condition(ctx, lock.Mark, e.Holds), e.Warns
			r.Locks = append(r.Locks, shown)
		}
		for _, m := range e.Kept {
			r.Kept = append(r.Kept, Kept{Why: keptBy(e, m), Warns: e.Warns, Condition: about.condition(ctx, &m, e.Holds)})
		}
	}
	return nil
}

// keptBy names a rule no-delete.
func keptBy(e policies.Explanation, m immutability.Mark) string {
	if e.Policy == "" {
		return fmt.Sprintf("the rule %q of the definition", m)
	}
	return fmt.Sprintf("the rule %q of policy %s", m, e.Policy)
}

// ruleText returns the line of the rule of a lock.
func ruleText(lock immutability.Lock) string {
	if lock.Mark != nil {
		return lock.Mark.String()
	}
	return lock.Marker.Word() + " " + immutability.Field(lock.SchemaPath)
}
