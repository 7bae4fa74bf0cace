package policy_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"

	"holdfast.dev/holdfast/internal/access/policy"
	"holdfast.dev/holdfast/internal/access/rbac"
)

// newAuthorizer returns an authorizer with the default roles, aggregated, and the
// default bindings. In namespace a, the users view, edit and admin have the roles
// of these names.
func newAuthorizer(t *testing.T) *rbac.Authorizer {
	t.Helper()
	factory := informers.NewSharedInformerFactory(nil, 0)
	informer := factory.Rbac().V1()
	a, err := rbac.New(informer)
	if err != nil {
		t.Fatal(err)
	}
	roles := append(policy.ClusterRoles(), policy.ControllerRoles()...)
	// Three rounds are enough: edit aggregates view, and admin aggregates edit.
	for range 3 {
		for _, role := range roles {
			if role.Rules, err = rbac.Aggregate(role, roles); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, role := range roles {
		if err := informer.ClusterRoles().Informer().GetIndexer().Add(role); err != nil {
			t.Fatal(err)
		}
	}
	for _, binding := range append(policy.ClusterRoleBindings(), policy.ControllerRoleBindings()...) {
		if err := informer.ClusterRoleBindings().Informer().GetIndexer().Add(binding); err != nil {
			t.Fatal(err)
		}
	}
	for _, role := range []string{"view", "edit", "admin"} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role, Namespace: "a"},
			RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: role}},
		}
		if err := informer.RoleBindings().Informer().GetIndexer().Add(binding); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// TestDefaultRoles lists, for each request, the users that may send it with the
// default roles and bindings.
func TestDefaultRoles(t *testing.T) {
	newUser := func(name string, groups ...string) user.Info {
		return &user.DefaultInfo{Name: name, Groups: append(groups, user.AllAuthenticated)}
	}
	users := []user.Info{
		&user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}},
		newUser("unbound"), newUser("view"), newUser("edit"), newUser("admin"),
		newUser("system:node:n1", user.NodesGroup),
		newUser("system:serviceaccount:a:default", "system:serviceaccounts", "system:serviceaccounts:a"),
		newUser("monitor", user.MonitoringGroup),
		newUser("root", user.SystemPrivilegedGroup),
	}
	const authenticated = "unbound view edit admin system:node:n1 system:serviceaccount:a:default monitor root"
	const all = "system:anonymous " + authenticated
	tests := map[string]string{
		"get /healthz":        all,
		"get /version":        all,
		"get /api":            authenticated,
		"get /apis/apps/v1":   authenticated,
		"get /openapi/v3":     authenticated,
		"get /metrics":        "monitor root",
		"get /readyz/etcd":    "monitor root",
		"get /openid/v1/jwks": "system:serviceaccount:a:default root",
		"post /api":           "root",
		"create authorization.k8s.io:selfsubjectaccessreviews":    authenticated,
		"create authorization.k8s.io:selfsubjectrulesreviews":     authenticated,
		"create authentication.k8s.io:selfsubjectreviews":         authenticated,
		"create authorization.k8s.io:subjectaccessreviews":        "root",
		"create authentication.k8s.io:tokenreviews":               "root",
		"create authorization.k8s.io:localsubjectaccessreviews a": "admin root",
		"list pods a":                                           "view edit admin root",
		"list pods b":                                           "root",
		"list pods":                                             "root",
		"get pods/log a":                                        "view edit admin root",
		"create pods a":                                         "edit admin root",
		"update pods/status a":                                  "root",
		"create pods/exec a":                                    "edit admin root",
		"create pods/binding a":                                 "root",
		"watch configmaps a":                                    "view edit admin root",
		"deletecollection configmaps a":                         "edit admin root",
		"get secrets a":                                         "edit admin root",
		"create serviceaccounts/token a":                        "edit admin root",
		"impersonate serviceaccounts a":                         "edit admin root",
		"impersonate users":                                     "root",
		"patch apps:deployments a":                              "edit admin root",
		"patch apps:deployments/scale a":                        "edit admin root",
		"patch apps:deployments/status a":                       "root",
		"get discovery.k8s.io:endpointslices a":                 "view edit admin root",
		"update endpoints a":                                    "root",
		"get coordination.k8s.io:leases a":                      "edit admin root",
		"create resourcequotas a":                               "root",
		"get resourcequotas a":                                  "view edit admin root",
		"get namespaces a":                                      "view edit admin root",
		"delete namespaces a":                                   "root",
		"list namespaces":                                       "root",
		"get rbac.authorization.k8s.io:roles a":                 "admin root",
		"create rbac.authorization.k8s.io:rolebindings a":       "admin root",
		"escalate rbac.authorization.k8s.io:roles a":            "root",
		"bind rbac.authorization.k8s.io:clusterroles a":         "root",
		"get rbac.authorization.k8s.io:clusterroles":            "root",
		"create certificates.k8s.io:certificatesigningrequests": "root",
		"get nodes":                                             "root",
		"list kudo.dev:operators a":                             "view edit admin root",
		"get kudo.dev:operatorversions a":                       "view edit admin root",
		"create kudo.dev:operatorversions a":                    "root",
		"delete kudo.dev:operators a":                           "root",
		"get kudo.dev:instances a":                              "view edit admin root",
		"patch kudo.dev:instances a":                            "edit admin root",
		"update kudo.dev:instances/status a":                    "root",
		"get example.com:widgets a":                             "root",
	}
	a := newAuthorizer(t)
	for request, want := range tests {
		t.Run(request, func(t *testing.T) {
			var allowed []string
			for _, u := range users {
				if decision, _, _ := a.Authorize(t.Context(), parse(u, request)); decision == authorizer.DecisionAllow {
					allowed = append(allowed, u.GetName())
				}
			}
			if got := strings.Join(allowed, " "); got != want {
				t.Errorf("allowed to: %s\nwant: %s", got, want)
			}
		})
	}
}

// parse returns the attributes of a request that is written as "verb /path" or
// "verb group:resource/subresource namespace".
func parse(u user.Info, request string) authorizer.Attributes {
	words := append(strings.Fields(request), "")
	record := authorizer.AttributesRecord{User: u, Verb: words[0]}
	if strings.HasPrefix(words[1], "/") {
		record.Path = words[1]
		return record
	}
	record.ResourceRequest, record.Namespace = true, words[2]
	group, resource, found := strings.Cut(words[1], ":")
	if !found {
		group, resource = "", words[1]
	}
	record.APIGroup = group
	record.Resource, record.Subresource, _ = strings.Cut(resource, "/")
	return record
}

// TestOnlyClusterAdminHasWildcards checks that no role but cluster-admin has a
// rule for all verbs or all resources. The extra values of a user can have any name, so the
// rule to impersonate them is an exception. So are the stock components that handle every kind, and the right of the role admin to unlock
// the objects of its namespace.
func TestOnlyClusterAdminHasWildcards(t *testing.T) {
	everyKind := []string{
		"system:kube-controller-manager", "system:controller:generic-garbage-collector", "system:controller:namespace-controller",
		"system:controller:resourcequota-controller", "system:controller:horizontal-pod-autoscaler", "system:controller:storage-version-migrator-controller",
	}
	for _, role := range append(policy.ClusterRoles(), policy.ControllerRoles()...) {
		if slices.Contains(everyKind, role.Name) {
			continue
		}
		for _, rule := range role.Rules {
			if slices.Contains(rule.Verbs, "*") && role.Name != "cluster-admin" {
				t.Errorf("%s: a rule with every verb", role.Name)
			}
			impersonates := slices.Equal(rule.Verbs, []string{"impersonate"}) && slices.Equal(rule.APIGroups, []string{"authentication.k8s.io"})
			unlocks := slices.Equal(rule.Verbs, []string{"unlock"}) && role.Name == "system:aggregate-to-admin"
			if slices.Contains(rule.Resources, "*") && role.Name != "cluster-admin" && !impersonates && !unlocks {
				t.Errorf("%s: a rule on every resource", role.Name)
			}
		}
	}
}
