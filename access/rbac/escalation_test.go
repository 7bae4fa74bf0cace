package rbac_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/access/rbac"
)

const holders = granted + `
- kind: ClusterRole
  metadata: {name: role-writer}
  rules: [{apiGroups: [rbac.authorization.k8s.io], resources: ["*"], verbs: [create, update]}]
- kind: ClusterRole
  metadata: {name: binder}
  rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [everything], verbs: [bind]}]
- kind: ClusterRole
  metadata: {name: escalator}
  rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [roles, clusterroles], verbs: [escalate]}]
- {kind: ClusterRoleBinding, metadata: {name: w}, roleRef: {kind: ClusterRole, name: role-writer}, subjects: [{kind: User, name: writer}]}
- {kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {kind: ClusterRole, name: binder}, subjects: [{kind: User, name: binder}]}
- {kind: ClusterRoleBinding, metadata: {name: e}, roleRef: {kind: ClusterRole, name: escalator}, subjects: [{kind: User, name: escalator}]}
`

func cut(s, sep, before string) (string, string) {
	if left, right, found := strings.Cut(s, sep); found {
		return left, right
	}
	return before, s
}

func cutRight(s string) (string, string) {
	left, right, _ := strings.Cut(s, "/")
	return left, right
}

func sa(namespace, name string) user.Info { return serviceaccount.UserInfo(namespace, name, "") }

func TestEscalation(t *testing.T) {
	rights := newAuthorizer(t, holders)
	ann, root := &user.DefaultInfo{Name: "ann", Groups: []string{"g"}}, &user.DefaultInfo{Name: "root", Groups: []string{"roots"}}
	tests := map[string]struct {
		user           user.Info
		newObj, oldObj string
		want           string
	}{
		"role with what one holds": {user: ann, newObj: `{kind: Role, metadata: {name: r, namespace: a}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`},
		"role with more": {
			user:   ann,
			newObj: `{kind: Role, metadata: {name: r, namespace: a}, rules: [{apiGroups: [""], resources: [pods, nodes], verbs: [get, create, delete]}, {apiGroups: [""], resources: [secrets], resourceNames: [x], verbs: [get]}]}`,
			want: `roles.rbac.authorization.k8s.io "r" is forbidden: user "ann" (groups=["g"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["nodes"], Verbs:["get" "create" "delete"]}
{APIGroups:[""], Resources:["pods"], Verbs:["create" "delete"]}
{APIGroups:[""], Resources:["secrets"], ResourceNames:["x"], Verbs:["get"]}`,
		},
		"role with more, elsewhere, and a role that is gone": {
			user:   &user.DefaultInfo{Name: "dora"},
			newObj: `{kind: Role, metadata: {name: r, namespace: b}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`,
			want: `roles.rbac.authorization.k8s.io "r" is forbidden: user "dora" (groups=[]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["pods"], Verbs:["get"]}; resolution errors: [clusterrole.rbac.authorization.k8s.io "gone" not found]`,
		},
		"cluster role of what one holds in a namespace only": {
			user:   ann,
			newObj: `{kind: ClusterRole, metadata: {name: r}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`,
			want: `clusterroles.rbac.authorization.k8s.io "r" is forbidden: user "ann" (groups=["g"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`,
		},
		"paths": {
			user:   ann,
			newObj: `{kind: ClusterRole, metadata: {name: r}, rules: [{nonResourceURLs: [/metrics], verbs: [get]}]}`,
			want: `clusterroles.rbac.authorization.k8s.io "r" is forbidden: user "ann" (groups=["g"]) is attempting to grant RBAC permissions not currently held:
{NonResourceURLs:["/metrics"], Verbs:["get"]}`,
		},
		"a label that lets others collect the rules": {
			user:   &user.DefaultInfo{Name: "writer"},
			newObj: `{kind: ClusterRole, metadata: {name: r, labels: {x: y}}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`,
			oldObj: `{kind: ClusterRole, metadata: {name: r}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`,
			want: `clusterroles.rbac.authorization.k8s.io "r" is forbidden: user "writer" (groups=[]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`,
		},
		"owner references alone": {
			user:   ann,
			newObj: `{kind: ClusterRole, metadata: {name: r, finalizers: [a/b], ownerReferences: [{name: o}]}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}`,
			oldObj: `{kind: ClusterRole, metadata: {name: r}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}`,
		},
		"aggregation": {
			user:   &user.DefaultInfo{Name: "writer"},
			newObj: `{kind: ClusterRole, metadata: {name: r}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {x: y}}]}}`,
			want:   `clusterroles.rbac.authorization.k8s.io "r" is forbidden: must have cluster-admin privileges to use an aggregationRule`,
		},
		"aggregation taken away": {
			user:   &user.DefaultInfo{Name: "writer"},
			newObj: `{kind: ClusterRole, metadata: {name: r}}`,
			oldObj: `{kind: ClusterRole, metadata: {name: r}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {x: y}}]}}`,
			want:   `clusterroles.rbac.authorization.k8s.io "r" is forbidden: must have cluster-admin privileges to use an aggregationRule`,
		},
		"aggregation by who holds everything": {user: root, newObj: `{kind: ClusterRole, metadata: {name: r}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {x: y}}]}}`},
		"escalate":                            {user: &user.DefaultInfo{Name: "escalator"}, newObj: `{kind: ClusterRole, metadata: {name: r}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}`},
		"binding to what one holds":           {user: ann, newObj: `{kind: RoleBinding, metadata: {name: b, namespace: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}}`},
		"binding to a role with more": {
			user:   ann,
			newObj: `{kind: RoleBinding, metadata: {name: b, namespace: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: everything}}`,
			want: `rolebindings.rbac.authorization.k8s.io "b" is forbidden: user "ann" (groups=["g"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:["*"], Resources:["*"], Verbs:["*"]}
{NonResourceURLs:["*"], Verbs:["*"]}`,
		},
		"binding to what one holds in one namespace only, for all": {
			user:   ann,
			newObj: `{kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: binder}}`,
			want: `clusterrolebindings.rbac.authorization.k8s.io "b" is forbidden: user "ann" (groups=["g"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:["rbac.authorization.k8s.io"], Resources:["clusterroles"], ResourceNames:["everything"], Verbs:["bind"]}`,
		},
		"bind": {user: &user.DefaultInfo{Name: "binder"}, newObj: `{kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: everything}}`},
		"bind to another role": {
			user:   &user.DefaultInfo{Name: "binder"},
			newObj: `{kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: escalator}}`,
			want: `clusterrolebindings.rbac.authorization.k8s.io "b" is forbidden: user "binder" (groups=[]) is attempting to grant RBAC permissions not currently held:
{APIGroups:["rbac.authorization.k8s.io"], Resources:["clusterroles"], Verbs:["escalate"]}
{APIGroups:["rbac.authorization.k8s.io"], Resources:["roles"], Verbs:["escalate"]}`,
		},
		"system:masters":              {user: &user.DefaultInfo{Name: "m", Groups: []string{user.SystemPrivilegedGroup}}, newObj: `{kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: everything}}`},
		"binding to a role not there": {user: ann, newObj: `{kind: RoleBinding, metadata: {name: b, namespace: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: none}}`, want: `roles.rbac.authorization.k8s.io "none" not found`},
	}
	stored := storedRoles(t, holders)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plugin := rbac.NewEscalation(rights, rights, stored)
			a, ctx := attributes(t, test.newObj, test.oldObj, test.user)
			got := ""
			if err := plugin.Validate(ctx, a, nil); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// storedRoles stands for the server's storage.
func storedRoles(t *testing.T, documents string) rbac.RoleReader {
	t.Helper()
	var roles []rbacv1.ClusterRole
	decode(t, []byte(documents), &roles)
	return func(_ context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
		for _, role := range roles {
			if role.Kind == ref.Kind && role.Name == ref.Name && role.Namespace == map[string]string{"Role": namespace}[ref.Kind] {
				return role.Rules, nil
			}
		}
		return nil, apierrors.NewNotFound(rbacv1.Resource(strings.ToLower(ref.Kind)+"s"), ref.Name)
	}
}

func attributes(t *testing.T, newObj, oldObj string, u user.Info) (admission.Attributes, context.Context) {
	t.Helper()
	parse := func(document string) runtime.Object {
		if document == "" {
			return nil
		}
		var kind metav1.TypeMeta
		decode(t, []byte(document), &kind)
		switch kind.Kind {
		case "Role":
			return decode(t, []byte(document), &rbacv1.Role{})
		case "ClusterRole":
			return decode(t, []byte(document), &rbacv1.ClusterRole{})
		case "RoleBinding":
			return decode(t, []byte(document), &rbacv1.RoleBinding{})
		default:
			return decode(t, []byte(document), &rbacv1.ClusterRoleBinding{})
		}
	}
	obj, old := parse(newObj), parse(oldObj)
	var meta metav1.PartialObjectMetadata
	decode(t, []byte(newObj), &meta)
	operation := admission.Create
	if old != nil {
		operation = admission.Update
	}
	resource := rbacv1.SchemeGroupVersion.WithResource(strings.ToLower(meta.Kind) + "s")
	ctx := request.WithRequestInfo(t.Context(), &request.RequestInfo{
		IsResourceRequest: true, APIGroup: resource.Group, Resource: resource.Resource, Namespace: meta.Namespace,
	})
	return admission.NewAttributesRecord(obj, old, rbacv1.SchemeGroupVersion.WithKind(meta.Kind), meta.Namespace, meta.Name, resource, "", operation, nil, false, u), ctx
}
