package controller

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/operator/authorship"
)

// reviewAccess asks the authorizer whether a user may make a write, for an object that cannot
// be tried as a dry run. It returns a Forbidden error if the user may not.
func (e *execution) reviewAccess(ctx context.Context, user authorship.User, object target, how attempt) error {
	mapping, err := e.mapping(object.GroupVersionKind())
	if err != nil {
		return err
	}
	forbidden := func(reason error) error {
		return apierrors.NewForbidden(mapping.Resource.GroupResource(), object.GetName(), reason)
	}
	needed, err := neededAccess(mapping, object, how)
	if err != nil {
		return forbidden(err)
	}
	for _, access := range needed {
		allowed, err := e.allows(ctx, user, access)
		if err != nil {
			return err
		}
		if !allowed {
			return forbidden(fmt.Errorf("user %q cannot %s resource %q in API group %q",
				user.Username, access.Verb, access.Resource, access.Group))
		}
	}
	return nil
}

// allows reports whether a user has an access. It asks the server with a SubjectAccessReview.
func (c *controller) allows(ctx context.Context, user authorship.User, access authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, ResourceAttributes: &access,
	}}
	for name, values := range user.Extra {
		if review.Spec.Extra == nil {
			review.Spec.Extra = map[string]authorizationv1.ExtraValue{}
		}
		review.Spec.Extra[name] = values
	}
	answer, err := c.server.Typed.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("review the access of user %s: %w", user.Username, err)
	}
	return answer.Status.Allowed, nil
}

// neededAccess returns the access that a write needs. The server has checks beside the
// authorizer for some kinds. For these it returns the verb with which a user passes the check
// in any case, or an error if there is no such verb.
func neededAccess(mapping *meta.RESTMapping, object target, how attempt) ([]authorizationv1.ResourceAttributes, error) {
	access := authorizationv1.ResourceAttributes{
		Group: mapping.Resource.Group, Version: mapping.Resource.Version, Resource: mapping.Resource.Resource,
		Namespace: object.GetNamespace(), Name: object.GetName(),
	}
	with := func(verb string) authorizationv1.ResourceAttributes {
		access.Verb = verb
		return access
	}
	if how.verb == deleteVerb {
		return []authorizationv1.ResourceAttributes{with("delete")}, nil
	}
	needed := []authorizationv1.ResourceAttributes{with("patch")}
	if how.found == nil {
		needed = append(needed, with("create"))
	}
	switch mapping.Resource.GroupResource() {
	case rbacv1.Resource("roles"), rbacv1.Resource("clusterroles"):
		return append(needed, with("escalate")), nil
	case rbacv1.Resource("rolebindings"), rbacv1.Resource("clusterrolebindings"):
		role, err := boundRole(object.Unstructured)
		role.Namespace = object.GetNamespace()
		return append(needed, role), err
	}
	if access.Group == certificatesv1.GroupName || access.Group == rbacv1.GroupName {
		return nil, errors.New("a webhook does not support dry runs, so the checks of this kind cannot be made")
	}
	return needed, nil
}

// boundRole returns the access that allows a user to bind the role of a binding.
func boundRole(binding *unstructured.Unstructured) (authorizationv1.ResourceAttributes, error) {
	kind, _, err := unstructured.NestedString(binding.Object, "roleRef", "kind")
	if err != nil {
		return authorizationv1.ResourceAttributes{}, err
	}
	name, _, err := unstructured.NestedString(binding.Object, "roleRef", "name")
	resource := map[string]string{"Role": "roles", "ClusterRole": "clusterroles"}[kind]
	if err == nil && resource == "" {
		err = fmt.Errorf("roleRef.kind: there is no kind %q of roles", kind)
	}
	return authorizationv1.ResourceAttributes{Verb: "bind", Group: rbacv1.GroupName, Version: "v1", Resource: resource, Name: name}, err
}
