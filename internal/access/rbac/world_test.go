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
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/access/rbac"
)

// choices draws values from the bytes of a fuzzer. When the bytes are used up, it draws the
// first of each.
type choices struct{ data []byte }

// below draws a number from 0 to n-1.
func (c *choices) below(n int) int {
	if len(c.data) == 0 {
		return 0
	}
	drawn := int(c.data[0]) % n
	c.data = c.data[1:]
	return drawn
}

func (c *choices) one(of ...string) string { return of[c.below(len(of))] }

// some draws at most three of the values; a value may appear twice.
func (c *choices) some(of ...string) []string {
	var drawn []string
	for range c.below(4) {
		drawn = append(drawn, c.one(of...))
	}
	return drawn
}

// The words are few, so that rules and requests often meet, and they have the edge cases of
// the rules: patterns that look like wildcards and are none, and names that contain each other.
func (c *choices) namespace() string { return c.one("a", "b") }
func (c *choices) verb() string      { return c.one("get", "list", "create", "escalate", "bind") }
func (c *choices) group() string     { return c.one("", "apps", "rbac.authorization.k8s.io") }
func (c *choices) resource() string {
	return c.one("pods", "podslog", "roles", "clusterroles", "pods/log", "*", "")
}
func (c *choices) path() string { return c.one("/", "/a", "/a/", "/a/b", "/ab", "*", "/a*", "") }
func (c *choices) name() string { return c.one("", "x", "y", "r1", "*") }

func (c *choices) rule() rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{Verbs: c.some("get", "list", "create", "escalate", "bind", "*", "ge*")}
	if c.below(4) == 0 {
		rule.NonResourceURLs = c.some("/", "/a", "/a/", "/a/*", "/a*", "*", "/*", "/a**", "/*/b", "")
		return rule
	}
	rule.APIGroups = c.some("", "apps", "rbac.authorization.k8s.io", "*", "app*")
	rule.Resources = c.some("pods", "pods/log", "*/log", "*", "pods/*", "*/*", "po*", "roles", "clusterroles", "*/", "/log", "")
	if c.below(3) == 0 {
		rule.ResourceNames = c.some("x", "y", "r1", "*", "")
	}
	return rule
}

func (c *choices) rules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for range c.below(4) {
		rules = append(rules, c.rule())
	}
	return rules
}

func (c *choices) subjects() []rbacv1.Subject {
	var subjects []rbacv1.Subject
	for range c.below(4) {
		subjects = append(subjects, rbacv1.Subject{
			Kind:      c.one(rbacv1.UserKind, rbacv1.GroupKind, rbacv1.ServiceAccountKind, "Team"),
			Name:      c.one("ann", "dev", "robot", "system:serviceaccount:a:robot", "u:ann"),
			Namespace: c.one("", "a", "b"),
		})
	}
	return subjects
}

func (c *choices) user() user.Info {
	return &user.DefaultInfo{
		Name:   c.one("ann", "dev", "robot", "system:serviceaccount:a:robot", "system:serviceaccount:b:robot", "u:ann", "a/u:ann"),
		Groups: c.some("dev", "ann", "robot", "system:serviceaccounts", "g:dev"),
	}
}

func (c *choices) roleRef() rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: c.one("ClusterRole", "Role", "Rule"), Name: c.one("r1", "r2", "r3", "gone")}
}

func (c *choices) request(u user.Info) authorizer.AttributesRecord {
	if c.below(4) == 0 {
		return authorizer.AttributesRecord{User: u, Verb: c.verb(), Path: c.path()}
	}
	return authorizer.AttributesRecord{
		User: u, Verb: c.verb(), APIGroup: c.group(), Resource: c.resource(), Subresource: c.one("", "log", "*", "g"),
		Name: c.name(), Namespace: c.one("", "a", "b"), ResourceRequest: true,
	}
}

// world holds the roles and bindings of a server.
type world struct {
	roles           []*rbacv1.Role
	clusterRoles    []*rbacv1.ClusterRole
	bindings        []*rbacv1.RoleBinding
	clusterBindings []*rbacv1.ClusterRoleBinding
}

// String returns the objects as YAML.
func (w *world) String() string {
	text, err := yaml.Marshal([]any{w.roles, w.clusterRoles, w.bindings, w.clusterBindings})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// newWorld draws roles and bindings. Two objects of a kind never have the same name.
func newWorld(c *choices) *world {
	w := &world{}
	for i := range c.below(4) {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("r%d", i), Labels: map[string]string{"to": c.one("view", "edit")}}
		w.clusterRoles = append(w.clusterRoles, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: c.rules()})
	}
	for i := range c.below(4) {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("r%d", i), Namespace: c.namespace()}
		w.roles = append(w.roles, &rbacv1.Role{ObjectMeta: meta, Rules: c.rules()})
	}
	for i := range c.below(4) {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("b%d", i)}
		w.clusterBindings = append(w.clusterBindings, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: c.roleRef(), Subjects: c.subjects()})
	}
	for i := range c.below(4) {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("b%d", i), Namespace: c.namespace()}
		w.bindings = append(w.bindings, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: c.roleRef(), Subjects: c.subjects()})
	}
	return w
}

// authorizer returns the authorizer with the objects of the world in its informers.
func (w *world) authorizer(t testing.TB) *rbac.Authorizer {
	t.Helper()
	factory := informers.NewSharedInformerFactory(nil, 0).Rbac().V1()
	a, err := rbac.New(factory)
	if err != nil {
		t.Fatal(err)
	}
	add(t, factory.Roles().Informer(), w.roles)
	add(t, factory.ClusterRoles().Informer(), w.clusterRoles)
	add(t, factory.RoleBindings().Informer(), w.bindings)
	add(t, factory.ClusterRoleBindings().Informer(), w.clusterBindings)
	return a
}

func add[T runtime.Object](t testing.TB, informer cache.SharedIndexInformer, objs []T) {
	t.Helper()
	for _, obj := range objs {
		if err := informer.GetIndexer().Add(obj); err != nil {
			t.Fatal(err)
		}
	}
}
