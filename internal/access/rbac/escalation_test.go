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
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/admission/escalation"
	"holdfast.dev/holdfast/internal/yamltest"
)

// escalationObjects adds users that may write roles, bind and escalate.
const escalationObjects = objects + `
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

func TestEscalation(t *testing.T) {
	const notHeld = " is attempting to grant RBAC permissions not currently held:\n"
	const needsAdmin = `clusterroles.rbac.authorization.k8s.io "r" is forbidden: ` +
		`must have cluster-admin privileges to use an aggregationRule`
	const toEverything = `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: everything}`
	named := func(name string) user.Info { return &user.DefaultInfo{Name: name} }
	ann, root := &user.DefaultInfo{Name: "ann", Groups: []string{"g"}}, &user.DefaultInfo{Name: "root", Groups: []string{"roots"}}
	tests := map[string]struct {
		user           user.Info
		newObj, oldObj string
		want           string
	}{
		"Role with rules that the user has": {
			user: ann,
			newObj: `
kind: Role
metadata: {name: r, namespace: a}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`,
		},
		"Role with more rules": {
			user: ann,
			newObj: `
kind: Role
metadata: {name: r, namespace: a}
rules:
- {apiGroups: [""], resources: [pods, nodes], verbs: [get, create, delete]}
- {apiGroups: [""], resources: [secrets], resourceNames: [x], verbs: [get]}`,
			want: `roles.rbac.authorization.k8s.io "r" is forbidden: user "ann" (groups=["g"])` + notHeld +
				`{APIGroups:[""], Resources:["nodes"], Verbs:["get" "create" "delete"]}
{APIGroups:[""], Resources:["pods"], Verbs:["create" "delete"]}
{APIGroups:[""], Resources:["secrets"], ResourceNames:["x"], Verbs:["get"]}`,
		},
		"Role with more rules, user is bound to a missing role": {
			user: named("dora"),
			newObj: `
kind: Role
metadata: {name: r, namespace: b}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`,
			want: `roles.rbac.authorization.k8s.io "r" is forbidden: user "dora" (groups=[])` + notHeld +
				`{APIGroups:[""], Resources:["pods"], Verbs:["get"]}; ` +
				`resolution errors: [clusterrole.rbac.authorization.k8s.io "gone" not found]`,
		},
		"ClusterRole with rules that the user has in one namespace": {
			user: ann,
			newObj: `
kind: ClusterRole
metadata: {name: r}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`,
			want: `clusterroles.rbac.authorization.k8s.io "r" is forbidden: user "ann" (groups=["g"])` + notHeld +
				`{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`,
		},
		"ClusterRole with URL paths": {
			user: ann,
			newObj: `
kind: ClusterRole
metadata: {name: r}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]`,
			want: `clusterroles.rbac.authorization.k8s.io "r" is forbidden: user "ann" (groups=["g"])` + notHeld +
				`{NonResourceURLs:["/metrics"], Verbs:["get"]}`,
		},
		"label added, by which others can aggregate the rules": {
			user: named("writer"),
			newObj: `
kind: ClusterRole
metadata: {name: r, labels: {x: y}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`,
			oldObj: `
kind: ClusterRole
metadata: {name: r}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`,
			want: `clusterroles.rbac.authorization.k8s.io "r" is forbidden: user "writer" (groups=[])` + notHeld +
				`{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`,
		},
		"only owner references and finalizers added": {
			user: ann,
			newObj: `
kind: ClusterRole
metadata: {name: r, finalizers: [a/b], ownerReferences: [{name: o}]}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`,
			oldObj: `
kind: ClusterRole
metadata: {name: r}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`,
		},
		"aggregationRule set": {
			user: named("writer"),
			newObj: `
kind: ClusterRole
metadata: {name: r}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {x: y}}]}`,
			want: needsAdmin,
		},
		"aggregationRule removed": {
			user:   named("writer"),
			newObj: `{kind: ClusterRole, metadata: {name: r}}`,
			oldObj: `
kind: ClusterRole
metadata: {name: r}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {x: y}}]}`,
			want: needsAdmin,
		},
		"aggregationRule set by a user with all rules": {
			user: root,
			newObj: `
kind: ClusterRole
metadata: {name: r}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {x: y}}]}`,
		},
		"verb escalate": {
			user: named("escalator"),
			newObj: `
kind: ClusterRole
metadata: {name: r}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`,
		},
		"binding to a role with rules that the user has": {
			user: ann,
			newObj: `
kind: RoleBinding
metadata: {name: b, namespace: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}`,
		},
		"binding to a role with more rules": {
			user:   ann,
			newObj: `{kind: RoleBinding, metadata: {name: b, namespace: a}, ` + toEverything + `}`,
			want: `rolebindings.rbac.authorization.k8s.io "b" is forbidden: user "ann" (groups=["g"])` + notHeld +
				`{APIGroups:["*"], Resources:["*"], Verbs:["*"]}
{NonResourceURLs:["*"], Verbs:["*"]}`,
		},
		"ClusterRoleBinding to a role that the user does not have": {
			user: ann,
			newObj: `
kind: ClusterRoleBinding
metadata: {name: b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: binder}`,
			want: `clusterrolebindings.rbac.authorization.k8s.io "b" is forbidden: user "ann" (groups=["g"])` + notHeld +
				`{APIGroups:["rbac.authorization.k8s.io"], Resources:["clusterroles"], ResourceNames:["everything"], Verbs:["bind"]}`,
		},
		"verb bind": {
			user:   named("binder"),
			newObj: `{kind: ClusterRoleBinding, metadata: {name: b}, ` + toEverything + `}`,
		},
		"verb bind on another role": {
			user: named("binder"),
			newObj: `
kind: ClusterRoleBinding
metadata: {name: b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: escalator}`,
			want: `clusterrolebindings.rbac.authorization.k8s.io "b" is forbidden: user "binder" (groups=[])` + notHeld +
				`{APIGroups:["rbac.authorization.k8s.io"], Resources:["clusterroles"], Verbs:["escalate"]}
{APIGroups:["rbac.authorization.k8s.io"], Resources:["roles"], Verbs:["escalate"]}`,
		},
		"system:masters": {
			user:   &user.DefaultInfo{Name: "m", Groups: []string{user.SystemPrivilegedGroup}},
			newObj: `{kind: ClusterRoleBinding, metadata: {name: b}, ` + toEverything + `}`,
		},
		"binding to a missing role": {
			user: ann,
			newObj: `
kind: RoleBinding
metadata: {name: b, namespace: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: none}`,
			want: `roles.rbac.authorization.k8s.io "none" not found`,
		},
	}
	bindings := newAuthorizer(t, escalationObjects)
	stored := storedRoles(t, escalationObjects)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plugin := escalation.New(bindings, bindings, stored)
			a, ctx := attributes(t, test.newObj, test.oldObj, test.user)
			got := ""
			if err := plugin.Validate(ctx, a, nil); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// storedRoles reads roles from documents instead of the server.
func storedRoles(t *testing.T, documents string) escalation.RoleReader {
	t.Helper()
	roles := *yamltest.Known[[]rbacv1.ClusterRole](t, documents)
	return func(_ context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
		for _, role := range roles {
			if role.Kind == ref.Kind && role.Name == ref.Name && role.Namespace == map[string]string{"Role": namespace}[ref.Kind] {
				return role.Rules, nil
			}
		}
		return nil, apierrors.NewNotFound(rbacv1.Resource(strings.ToLower(ref.Kind)+"s"), ref.Name)
	}
}

// attributes returns the admission attributes and the context of a request that
// creates newObj, or updates oldObj to it.
func attributes(t *testing.T, newObj, oldObj string, u user.Info) (admission.Attributes, context.Context) {
	t.Helper()
	parse := func(document string) runtime.Object {
		if document == "" {
			return nil
		}
		switch yamltest.Known[metav1.TypeMeta](t, document).Kind {
		case "Role":
			return yamltest.Decode[rbacv1.Role](t, document)
		case "ClusterRole":
			return yamltest.Decode[rbacv1.ClusterRole](t, document)
		case "RoleBinding":
			return yamltest.Decode[rbacv1.RoleBinding](t, document)
		default:
			return yamltest.Decode[rbacv1.ClusterRoleBinding](t, document)
		}
	}
	obj, old := parse(newObj), parse(oldObj)
	meta := yamltest.Known[metav1.PartialObjectMetadata](t, newObj)
	operation := admission.Create
	if old != nil {
		operation = admission.Update
	}
	resource := rbacv1.SchemeGroupVersion.WithResource(strings.ToLower(meta.Kind) + "s")
	ctx := request.WithRequestInfo(t.Context(), &request.RequestInfo{
		IsResourceRequest: true, APIGroup: resource.Group, Resource: resource.Resource, Namespace: meta.Namespace,
	})
	kind := rbacv1.SchemeGroupVersion.WithKind(meta.Kind)
	return admission.NewAttributesRecord(obj, old, kind, meta.Namespace, meta.Name, resource, "", operation, nil, false, u), ctx
}
