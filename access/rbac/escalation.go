package rbac

import (
	"context"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// everything is what somebody must hold who lets a role collect its rules from
// roles that others will write.
var everything = []rbacv1.PolicyRule{
	{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}},
}

// Escalation is the admission plugin that refuses a role with rules, and a
// binding to a role, that its writer does not hold. The verbs escalate on a
// role and bind on a role lift the refusal, and system:masters is exempt.
type Escalation struct {
	*admission.Handler
	rights     *Authorizer
	authorizer authorizer.UnconditionalAuthorizer
	roles      RoleReader
}

var _ admission.ValidationInterface = &Escalation{}

// RoleReader gives the rules of the role that a binding in the namespace refers
// to; the namespace of a ClusterRoleBinding is empty.
type RoleReader func(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error)

// LiveRoles reads from the server itself: a role that was written a moment ago
// is judged, and bound, as it is.
func LiveRoles(client rbacclient.RbacV1Interface) RoleReader {
	return func(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
		if ref.Kind == "Role" {
			role, err := client.Roles(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			return role.Rules, nil
		}
		role, err := client.ClusterRoles().Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	}
}

// NewEscalation judges by the grants that rights knows, asks all, the server's
// whole authorizer, for the verbs escalate and bind, and reads the roles that
// bindings refer to from roles.
func NewEscalation(rights *Authorizer, all authorizer.UnconditionalAuthorizer, roles RoleReader) *Escalation {
	return &Escalation{
		Handler: admission.NewHandler(admission.Create, admission.Update),
		rights:  rights, authorizer: all, roles: roles,
	}
}

// Validate implements admission.ValidationInterface.
func (e *Escalation) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().Group != rbacv1.GroupName || a.GetSubresource() != "" {
		return nil
	}
	u := a.GetUserInfo()
	if u == nil {
		return admission.NewForbidden(a, errors.New("no user on context"))
	}
	if slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup) || onlyCollected(a.GetObject(), a.GetOldObject()) {
		return nil
	}
	switch obj := a.GetObject().(type) {
	case *rbacv1.Role:
		return e.judgeRole(ctx, a, obj.Rules)
	case *rbacv1.ClusterRole:
		return e.judgeClusterRole(ctx, a, obj)
	case *rbacv1.RoleBinding:
		return e.judgeBinding(ctx, a, obj.RoleRef)
	case *rbacv1.ClusterRoleBinding:
		return e.judgeBinding(ctx, a, obj.RoleRef)
	}
	return nil
}

func (e *Escalation) judgeClusterRole(ctx context.Context, a admission.Attributes, role *rbacv1.ClusterRole) error {
	if e.mayEscalate(ctx, a) {
		return nil
	}
	if err := e.confirm(a, role.Rules); err != nil {
		return err
	}
	oldRole, _ := a.GetOldObject().(*rbacv1.ClusterRole)
	if (aggregates(role) || aggregates(oldRole)) && e.confirm(a, everything) != nil {
		return forbidden(a, errors.New("must have cluster-admin privileges to use an aggregationRule"))
	}
	return nil
}

func (e *Escalation) judgeRole(ctx context.Context, a admission.Attributes, rules []rbacv1.PolicyRule) error {
	if e.mayEscalate(ctx, a) {
		return nil
	}
	return e.confirm(a, rules)
}

func (e *Escalation) judgeBinding(ctx context.Context, a admission.Attributes, ref rbacv1.RoleRef) error {
	if e.mayBind(ctx, a, ref) {
		return nil
	}
	rules, err := e.roles(ctx, ref, a.GetNamespace())
	if err != nil {
		return err
	}
	return e.confirm(a, rules)
}

// mayEscalate asks as Kubernetes does: with the name in the request, which a
// creation has not.
func (e *Escalation) mayEscalate(ctx context.Context, a admission.Attributes) bool {
	info, ok := request.RequestInfoFrom(ctx)
	if !ok || !info.IsResourceRequest {
		return false
	}
	return e.allowed(ctx, authorizer.AttributesRecord{
		User: a.GetUserInfo(), Verb: "escalate", Namespace: info.Namespace, Name: info.Name,
		APIGroup: rbacv1.GroupName, APIVersion: "*", Resource: a.GetResource().Resource, ResourceRequest: true,
	})
}

func (e *Escalation) mayBind(ctx context.Context, a admission.Attributes, ref rbacv1.RoleRef) bool {
	resources := map[string]string{"Role": "roles", "ClusterRole": "clusterroles"}
	resource, ok := resources[ref.Kind]
	if !ok {
		return false
	}
	return e.allowed(ctx, authorizer.AttributesRecord{
		User: a.GetUserInfo(), Verb: "bind", Namespace: a.GetNamespace(), Name: ref.Name,
		APIGroup: ref.APIGroup, APIVersion: "*", Resource: resource, ResourceRequest: true,
	})
}

func (e *Escalation) allowed(ctx context.Context, attributes authorizer.Attributes) bool {
	decision, _, err := e.authorizer.Authorize(ctx, attributes)
	return err == nil && decision == authorizer.DecisionAllow
}

// confirm returns Forbidden unless the writer holds all the rules.
func (e *Escalation) confirm(a admission.Attributes, rules []rbacv1.PolicyRule) error {
	u := a.GetUserInfo()
	held, unresolved := e.rights.held(u, a.GetNamespace())
	covered, missing := validation.Covers(held, rules)
	if covered {
		return nil
	}
	message := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s",
		u.GetName(), u.GetGroups(), describe(missing))
	if unresolved != nil {
		message += fmt.Sprintf("; resolution errors: %v", []error{unresolved})
	}
	return forbidden(a, errors.New(message))
}

// forbidden names the object as it is: a creation with a generated name has
// one by now.
func forbidden(a admission.Attributes, cause error) error {
	name := a.GetName()
	if accessor, err := meta.Accessor(a.GetObject()); err == nil {
		name = accessor.GetName()
	}
	return apierrors.NewForbidden(a.GetResource().GroupResource(), name, cause)
}

func aggregates(role *rbacv1.ClusterRole) bool {
	return role != nil && role.AggregationRule != nil && len(role.AggregationRule.ClusterRoleSelectors) > 0
}

// onlyCollected reports whether an update changes nothing but what garbage
// collection needs: owner references and finalizers.
func onlyCollected(newObj, oldObj runtime.Object) bool {
	if newObj == nil || oldObj == nil {
		return false
	}
	oldMeta, err := meta.Accessor(oldObj)
	if err != nil {
		return false
	}
	stomped := newObj.DeepCopyObject()
	stompedMeta, err := meta.Accessor(stomped)
	if err != nil {
		return false
	}
	stompedMeta.SetOwnerReferences(oldMeta.GetOwnerReferences())
	stompedMeta.SetFinalizers(oldMeta.GetFinalizers())
	stompedMeta.SetManagedFields(oldMeta.GetManagedFields())
	return apiequality.Semantic.DeepEqual(stomped, oldObj)
}
