// Package escalation is the admission plugin that keeps users from granting permissions that they do not have.
package escalation

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

	"holdfast.dev/holdfast/internal/access/rbac"
)

// clusterAdminRules are the rules that a user must have to write a ClusterRole that has
// an aggregationRule before or after the write. Such a role gets rules that other users
// write later.
var clusterAdminRules = []rbacv1.PolicyRule{
	{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}},
}

// Plugin is the admission plugin that forbids a user to write a role, or a
// binding to a role, with rules that the user does not have. A user with the verb
// escalate on the role, or the verb bind on the bound role, may do it anyway, and
// so may the group system:masters.
type Plugin struct {
	*admission.Handler
	bindings   *rbac.Authorizer
	authorizer authorizer.UnconditionalAuthorizer
	roles      RoleReader
}

var _ admission.ValidationInterface = &Plugin{}

// RoleReader returns the rules of the role that a binding in the namespace refers
// to. For a ClusterRoleBinding, the namespace is empty.
type RoleReader func(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error)

// LiveRoles returns a RoleReader that reads from the server instead of a cache, so
// that a binding is checked against the current rules of its role.
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

// New returns the plugin. bindings gives the rules that a user has,
// server is the server's whole authorizer and decides on the verbs escalate and
// bind, and roles gives the rules of the role that a new binding refers to.
func New(bindings *rbac.Authorizer, server authorizer.UnconditionalAuthorizer, roles RoleReader) *Plugin {
	return &Plugin{
		Handler:  admission.NewHandler(admission.Create, admission.Update),
		bindings: bindings, authorizer: server, roles: roles,
	}
}

// Validate implements admission.ValidationInterface.
func (e *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().Group != rbacv1.GroupName || a.GetSubresource() != "" {
		return nil
	}
	u := a.GetUserInfo()
	if u == nil {
		return admission.NewForbidden(a, errors.New("no user on context"))
	}
	if slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup) || changesOnlyOwnersAndFinalizers(a.GetObject(), a.GetOldObject()) {
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

func (e *Plugin) judgeClusterRole(ctx context.Context, a admission.Attributes, role *rbacv1.ClusterRole) error {
	if e.mayEscalate(ctx, a) {
		return nil
	}
	if err := e.checkRules(a, role.Rules); err != nil {
		return err
	}
	oldRole, _ := a.GetOldObject().(*rbacv1.ClusterRole)
	if (aggregates(role) || aggregates(oldRole)) && e.checkRules(a, clusterAdminRules) != nil {
		return forbidden(a, errors.New("must have cluster-admin privileges to use an aggregationRule"))
	}
	return nil
}

func (e *Plugin) judgeRole(ctx context.Context, a admission.Attributes, rules []rbacv1.PolicyRule) error {
	if e.mayEscalate(ctx, a) {
		return nil
	}
	return e.checkRules(a, rules)
}

func (e *Plugin) judgeBinding(ctx context.Context, a admission.Attributes, ref rbacv1.RoleRef) error {
	if e.mayBind(ctx, a, ref) {
		return nil
	}
	rules, err := e.roles(ctx, ref, a.GetNamespace())
	if err != nil {
		return err
	}
	return e.checkRules(a, rules)
}

// mayEscalate reports whether the user has the verb escalate. Like Kubernetes, it
// takes the object's name from the URL; a create request has none there.
func (e *Plugin) mayEscalate(ctx context.Context, a admission.Attributes) bool {
	info, ok := request.RequestInfoFrom(ctx)
	if !ok || !info.IsResourceRequest {
		return false
	}
	return e.allowed(ctx, authorizer.AttributesRecord{
		User: a.GetUserInfo(), Verb: "escalate", Namespace: info.Namespace, Name: info.Name,
		APIGroup: rbacv1.GroupName, APIVersion: "*", Resource: a.GetResource().Resource, ResourceRequest: true,
	})
}

func (e *Plugin) mayBind(ctx context.Context, a admission.Attributes, ref rbacv1.RoleRef) bool {
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

func (e *Plugin) allowed(ctx context.Context, attributes authorizer.Attributes) bool {
	decision, _, err := e.authorizer.Authorize(ctx, attributes)
	return err == nil && decision == authorizer.DecisionAllow
}

// checkRules returns a Forbidden error unless the user has all the rules.
func (e *Plugin) checkRules(a admission.Attributes, rules []rbacv1.PolicyRule) error {
	u := a.GetUserInfo()
	held, unresolved := e.bindings.UserRules(u, a.GetNamespace())
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

// forbidden returns a Forbidden error with the name from the object's metadata.
// For an object created with generateName, a.GetName() is still empty.
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

// changesOnlyOwnersAndFinalizers reports whether an update changes nothing but
// owner references, finalizers and managed fields. The garbage collector makes
// such updates without having the rules of the role.
func changesOnlyOwnersAndFinalizers(newObj, oldObj runtime.Object) bool {
	if newObj == nil || oldObj == nil {
		return false
	}
	oldMeta, err := meta.Accessor(oldObj)
	if err != nil {
		return false
	}
	restored := newObj.DeepCopyObject()
	restoredMeta, err := meta.Accessor(restored)
	if err != nil {
		return false
	}
	restoredMeta.SetOwnerReferences(oldMeta.GetOwnerReferences())
	restoredMeta.SetFinalizers(oldMeta.GetFinalizers())
	restoredMeta.SetManagedFields(oldMeta.GetManagedFields())
	return apiequality.Semantic.DeepEqual(restored, oldObj)
}
