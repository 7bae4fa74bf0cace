package rbac_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"

	"holdfast.dev/holdfast/internal/access/rbac"
	"holdfast.dev/holdfast/internal/yamltest"
)

const objects = `
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
  metadata: {name: account-without-namespace}
  roleRef: {kind: ClusterRole, name: everything}
  subjects: [{kind: ServiceAccount, name: robot}]
- kind: RoleBinding
  metadata: {name: read, namespace: a}
  roleRef: {kind: ClusterRole, name: reader}
  subjects:
  - {kind: User, name: ann}
  - {kind: Group, name: readers}
  - {kind: ServiceAccount, name: robot}
  - {kind: ServiceAccount, name: robot, namespace: b}
- kind: RoleBinding
  metadata: {name: secret, namespace: a}
  roleRef: {kind: Role, name: one-secret}
  subjects: [{kind: User, name: ann}]
- kind: RoleBinding
  metadata: {name: elsewhere, namespace: b}
  roleRef: {kind: Role, name: one-secret}
  subjects: [{kind: User, name: ann}]
`

// newAuthorizer returns an authorizer that knows the objects in documents. It adds
// them to the informers directly, without a server.
func newAuthorizer(t testing.TB, documents string) *rbac.Authorizer {
	t.Helper()
	factory := informers.NewSharedInformerFactory(nil, 0)
	a, err := rbac.New(factory.Rbac().V1())
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range *yamltest.Decode[[]runtime.RawExtension](t, documents) {
		rbacs := factory.Rbac().V1()
		var err error
		kind := yamltest.Known[metav1.TypeMeta](t, item.Raw).Kind
		switch kind {
		case "Role":
			err = rbacs.Roles().Informer().GetIndexer().Add(yamltest.Decode[rbacv1.Role](t, item.Raw))
		case "ClusterRole":
			err = rbacs.ClusterRoles().Informer().GetIndexer().Add(yamltest.Decode[rbacv1.ClusterRole](t, item.Raw))
		case "RoleBinding":
			err = rbacs.RoleBindings().Informer().GetIndexer().Add(yamltest.Decode[rbacv1.RoleBinding](t, item.Raw))
		case "ClusterRoleBinding":
			err = rbacs.ClusterRoleBindings().Informer().GetIndexer().Add(yamltest.Decode[rbacv1.ClusterRoleBinding](t, item.Raw))
		default:
			t.Fatalf("unknown kind %q", kind)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// newRequest returns the attributes of a request. The resource is a path such as
// "/healthz", or "pods", "pods/status" or, with an API group, "apps:deployments".
// The target is "namespace/name", or "namespace" for a list.
func newRequest(u user.Info, verb, resource, target string) authorizer.AttributesRecord {
	r := authorizer.AttributesRecord{User: u, Verb: verb}
	if resource[0] == '/' {
		r.Path = resource
		return r
	}
	r.ResourceRequest = true
	if group, rest, found := strings.Cut(resource, ":"); found {
		r.APIGroup, resource = group, rest
	}
	r.Resource, r.Subresource, _ = strings.Cut(resource, "/")
	r.Namespace, r.Name, _ = strings.Cut(target, "/")
	return r
}

func sa(namespace, name string) user.Info { return serviceaccount.UserInfo(namespace, name, "") }

func TestAuthorize(t *testing.T) {
	const (
		noOpinion     = "no opinion"
		allowedByRead = `allow RBAC: allowed by RoleBinding "read/a" of ClusterRole "reader" to `
		allowedByRoot = `allow RBAC: allowed by ClusterRoleBinding "root" of ClusterRole "everything" to `
	)
	a := newAuthorizer(t, objects)
	named := func(name string) user.Info { return &user.DefaultInfo{Name: name} }
	ann := named("ann")
	reader := &user.DefaultInfo{Name: "bob", Groups: []string{"others", "readers"}}
	root := &user.DefaultInfo{Name: "x", Groups: []string{"roots"}}
	tests := map[string]struct {
		user                   user.Info
		verb, resource, target string
		want                   string
	}{
		"user":                                 {ann, "get", "pods", "a/x", allowedByRead + `User "ann"`},
		"group":                                {reader, "list", "pods", "a", allowedByRead + `Group "readers"`},
		"service account, binding's namespace": {sa("a", "robot"), "get", "pods", "a/x", allowedByRead + `ServiceAccount "robot/a"`},
		"service account, other namespace":     {sa("b", "robot"), "get", "pods", "a/x", allowedByRead + `ServiceAccount "robot/b"`},
		"service account without a namespace":  {sa("", "robot"), "get", "nodes", "", noOpinion},
		"service account that is not bound":    {sa("c", "robot"), "get", "pods", "a/x", noOpinion},
		"other namespace": {
			ann, "get", "pods", "b/x", `no opinion RBAC: role.rbac.authorization.k8s.io "one-secret" not found`,
		},
		"all namespaces":                        {ann, "list", "pods", "", noOpinion},
		"other verb":                            {ann, "watch", "pods", "a", noOpinion},
		"other API group":                       {ann, "get", "apps:pods", "a/x", noOpinion},
		"pods does not include pods/log":        {ann, "get", "pods/log", "a/x", noOpinion},
		"*/scale":                               {ann, "get", "replicationcontrollers/scale", "a/x", allowedByRead + `User "ann"`},
		"*/scale does not include the resource": {ann, "get", "replicationcontrollers", "a/x", noOpinion},
		"resource name matches": {
			ann, "get", "secrets", "a/db", `allow RBAC: allowed by RoleBinding "secret/a" of Role "one-secret" to User "ann"`,
		},
		"resource name differs":                   {ann, "get", "secrets", "a/other", noOpinion},
		"resource name, list request":             {ann, "list", "secrets", "a", noOpinion},
		"URL path granted by a RoleBinding":       {ann, "get", "/healthz", "", noOpinion},
		"ClusterRoleBinding":                      {root, "delete", "apps:deployments/scale", "z/x", allowedByRoot + `Group "roots"`},
		"ClusterRoleBinding, URL path":            {root, "post", "/anything", "", allowedByRoot + `Group "roots"`},
		"user with the name of a bound group":     {named("roots"), "get", "pods", "a/x", noOpinion},
		"user with the name of a service account": {named("robot"), "get", "pods", "a/x", noOpinion},
		"binding to a missing role": {
			named("dora"), "get", "pods", "a/x", `no opinion RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found`,
		},
		"no user":                              {nil, "get", "pods", "a/x", noOpinion},
		"object with the name of an index key": {ann, "get", "pods", "a/u:ann", allowedByRead + `User "ann"`},
		"user with the name of an index key":   {named("g:readers"), "get", "pods", "a/x", noOpinion},
	}
	decisions := map[authorizer.Decision]string{
		authorizer.DecisionAllow: "allow", authorizer.DecisionNoOpinion: noOpinion, authorizer.DecisionDeny: "deny",
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			decision, reason, err := a.Authorize(t.Context(), newRequest(test.user, test.verb, test.resource, test.target))
			if err != nil {
				t.Fatal(err)
			}
			got := decisions[decision]
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
		if testing.Short() && bindings > 1000 {
			continue
		}
		b.Run(fmt.Sprintf("bindings=%d", bindings), func(b *testing.B) {
			var documents strings.Builder
			documents.WriteString(objects)
			for i := range bindings {
				fmt.Fprintf(&documents, "- {kind: RoleBinding, metadata: {name: r%d, namespace: a}, "+
					"roleRef: {kind: ClusterRole, name: reader}, subjects: [{kind: User, name: user-%d}]}\n", i, i)
			}
			a := newAuthorizer(b, documents.String())
			user0 := &user.DefaultInfo{Name: "user-0", Groups: []string{"team", "system:authenticated"}}
			request := newRequest(user0, "get", "configmaps", "a/x")
			for b.Loop() {
				if decision, _, _ := a.Authorize(b.Context(), request); decision != authorizer.DecisionAllow {
					b.Fatal(decision)
				}
			}
		})
	}
}
