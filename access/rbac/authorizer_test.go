package rbac_test

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/access/rbac"
)

const granted = `
- kind: ClusterRole
  metadata: {name: everything}
  rules:
  - {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}
  - {nonResourceURLs: ["*"], verbs: ["*"]}
- kind: ClusterRole
  metadata: {name: reader}
  rules:
  - {apiGroups: [""], resources: [pods, configmaps, "*/scale"], verbs: [get, list]}
  - {nonResourceURLs: [/healthz, /logs/*], verbs: [get]}
- kind: Role
  metadata: {name: one-secret, namespace: a}
  rules:
  - {apiGroups: [""], resources: [secrets], resourceNames: [db], verbs: [get]}
- kind: ClusterRoleBinding
  metadata: {name: root}
  roleRef: {kind: ClusterRole, name: everything}
  subjects: [{kind: Group, name: roots}]
- kind: ClusterRoleBinding
  metadata: {name: dangling}
  roleRef: {kind: ClusterRole, name: gone}
  subjects: [{kind: User, name: dora}]
- kind: ClusterRoleBinding
  metadata: {name: nobody}
  roleRef: {kind: ClusterRole, name: everything}
  subjects: [{kind: ServiceAccount, name: robot}]
- kind: RoleBinding
  metadata: {name: read, namespace: a}
  roleRef: {kind: ClusterRole, name: reader}
  subjects: [{kind: User, name: ann}, {kind: Group, name: readers}, {kind: ServiceAccount, name: robot}, {kind: ServiceAccount, name: robot, namespace: b}]
- kind: RoleBinding
  metadata: {name: secret, namespace: a}
  roleRef: {kind: Role, name: one-secret}
  subjects: [{kind: User, name: ann}]
- kind: RoleBinding
  metadata: {name: elsewhere, namespace: b}
  roleRef: {kind: Role, name: one-secret}
  subjects: [{kind: User, name: ann}]
`

// newAuthorizer fills the informers without a server.
func newAuthorizer(t testing.TB, documents string) *rbac.Authorizer {
	t.Helper()
	factory := informers.NewSharedInformerFactory(nil, 0)
	a, err := rbac.New(factory.Rbac().V1())
	if err != nil {
		t.Fatal(err)
	}
	var items []runtime.RawExtension
	if err := yaml.Unmarshal([]byte(documents), &items); err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		var kind metav1.TypeMeta
		decode(t, item.Raw, &kind)
		rbacs := factory.Rbac().V1()
		var err error
		switch kind.Kind {
		case "Role":
			err = rbacs.Roles().Informer().GetIndexer().Add(decode(t, item.Raw, &rbacv1.Role{}))
		case "ClusterRole":
			err = rbacs.ClusterRoles().Informer().GetIndexer().Add(decode(t, item.Raw, &rbacv1.ClusterRole{}))
		case "RoleBinding":
			err = rbacs.RoleBindings().Informer().GetIndexer().Add(decode(t, item.Raw, &rbacv1.RoleBinding{}))
		case "ClusterRoleBinding":
			err = rbacs.ClusterRoleBindings().Informer().GetIndexer().Add(decode(t, item.Raw, &rbacv1.ClusterRoleBinding{}))
		default:
			t.Fatalf("unknown kind %q", kind.Kind)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func decode[T any](t testing.TB, data []byte, into *T) *T {
	t.Helper()
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
	return into
}

// ask reads "get pods/status a/name" and "get /path"; a group is before the
// resource, as in "get apps:deployments a".
func ask(u user.Info, verb, resource, target string) authorizer.AttributesRecord {
	r := authorizer.AttributesRecord{User: u, Verb: verb}
	if resource[0] == '/' {
		r.Path = resource
		return r
	}
	r.ResourceRequest = true
	r.APIGroup, resource = cut(resource, ":", "")
	r.Resource, r.Subresource = cutRight(resource)
	r.Namespace, r.Name = cutRight(target)
	return r
}

func TestAuthorize(t *testing.T) {
	a := newAuthorizer(t, granted)
	ann := &user.DefaultInfo{Name: "ann"}
	readers := &user.DefaultInfo{Name: "bob", Groups: []string{"others", "readers"}}
	tests := map[string]struct {
		user                   user.Info
		verb, resource, target string
		want                   string
	}{
		"role in the namespace":                 {ann, "get", "pods", "a/x", `allow RBAC: allowed by RoleBinding "read/a" of ClusterRole "reader" to User "ann"`},
		"group":                                 {readers, "list", "pods", "a", `allow RBAC: allowed by RoleBinding "read/a" of ClusterRole "reader" to Group "readers"`},
		"service account of the namespace":      {sa("a", "robot"), "get", "pods", "a/x", `allow RBAC: allowed by RoleBinding "read/a" of ClusterRole "reader" to ServiceAccount "robot/a"`},
		"service account of another":            {sa("b", "robot"), "get", "pods", "a/x", `allow RBAC: allowed by RoleBinding "read/a" of ClusterRole "reader" to ServiceAccount "robot/b"`},
		"service account without a namespace":   {sa("", "robot"), "get", "nodes", "", "no opinion"},
		"another service account":               {sa("c", "robot"), "get", "pods", "a/x", "no opinion"},
		"another namespace":                     {ann, "get", "pods", "b/x", `no opinion RBAC: role.rbac.authorization.k8s.io "one-secret" not found`},
		"all namespaces":                        {ann, "list", "pods", "", "no opinion"},
		"another verb":                          {ann, "watch", "pods", "a", "no opinion"},
		"another group":                         {ann, "get", "apps:pods", "a/x", "no opinion"},
		"subresource is not its resource":       {ann, "get", "pods/log", "a/x", "no opinion"},
		"any resource's subresource":            {ann, "get", "replicationcontrollers/scale", "a/x", `allow RBAC: allowed by RoleBinding "read/a" of ClusterRole "reader" to User "ann"`},
		"resource is not its subresource":       {ann, "get", "replicationcontrollers", "a/x", "no opinion"},
		"the named one":                         {ann, "get", "secrets", "a/db", `allow RBAC: allowed by RoleBinding "secret/a" of Role "one-secret" to User "ann"`},
		"not the named one":                     {ann, "get", "secrets", "a/other", "no opinion"},
		"a list has no name":                    {ann, "list", "secrets", "a", "no opinion"},
		"path, bound in a namespace":            {ann, "get", "/healthz", "", "no opinion"},
		"cluster-wide":                          {&user.DefaultInfo{Name: "x", Groups: []string{"roots"}}, "delete", "apps:deployments/scale", "z/x", `allow RBAC: allowed by ClusterRoleBinding "root" of ClusterRole "everything" to Group "roots"`},
		"cluster-wide path":                     {&user.DefaultInfo{Name: "x", Groups: []string{"roots"}}, "post", "/anything", "", `allow RBAC: allowed by ClusterRoleBinding "root" of ClusterRole "everything" to Group "roots"`},
		"a user is not the group of its name":   {&user.DefaultInfo{Name: "roots"}, "get", "pods", "a/x", "no opinion"},
		"a role that is gone":                   {&user.DefaultInfo{Name: "dora"}, "get", "pods", "a/x", `no opinion RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found`},
		"a user of a service account's name":    {&user.DefaultInfo{Name: "robot"}, "get", "pods", "a/x", "no opinion"},
		"nobody":                                {nil, "get", "pods", "a/x", "no opinion"},
		"a namespace that begins like another":  {ann, "get", "pods", "a/u:ann", `allow RBAC: allowed by RoleBinding "read/a" of ClusterRole "reader" to User "ann"`},
		"a user whose name holds a key of both": {&user.DefaultInfo{Name: "g:readers"}, "get", "pods", "a/x", "no opinion"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			decision, reason, err := a.Authorize(t.Context(), ask(test.user, test.verb, test.resource, test.target))
			if err != nil {
				t.Fatal(err)
			}
			got := map[authorizer.Decision]string{authorizer.DecisionAllow: "allow", authorizer.DecisionNoOpinion: "no opinion", authorizer.DecisionDeny: "deny"}[decision]
			if reason != "" {
				got += " " + reason
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func BenchmarkAuthorize(b *testing.B) {
	for _, bindings := range []int{1, 1000, 10_000} {
		b.Run(fmt.Sprintf("bindings=%d", bindings), func(b *testing.B) {
			documents := granted
			for i := range bindings {
				documents += fmt.Sprintf("- {kind: RoleBinding, metadata: {name: r%d, namespace: a}, roleRef: {kind: ClusterRole, name: reader}, subjects: [{kind: User, name: user-%d}]}\n", i, i)
			}
			a := newAuthorizer(b, documents)
			request := ask(&user.DefaultInfo{Name: "user-0", Groups: []string{"team", "system:authenticated"}}, "get", "configmaps", "a/x")
			for b.Loop() {
				if decision, _, _ := a.Authorize(b.Context(), request); decision != authorizer.DecisionAllow {
					b.Fatal(decision)
				}
			}
		})
	}
}
