package policy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/access/policy"
	"holdfast.dev/holdfast/internal/access/rbac"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// versions returns the resourceVersion of every ClusterRole and ClusterRoleBinding.
func versions(t *testing.T, client kubernetes.Interface) map[string]string {
	t.Helper()
	found := map[string]string{}
	roles, err := client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range roles.Items {
		found["role "+role.Name] = role.ResourceVersion
	}
	bindings, err := client.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, binding := range bindings.Items {
		found["binding "+binding.Name] = binding.ResourceVersion
	}
	return found
}

func TestReconcile(t *testing.T) {
	client := servertest.Start(t, apiserver.Config{}).Client(t)
	var concurrent errgroup.Group
	for range 2 {
		concurrent.Go(func() error { return policy.Reconcile(t.Context(), client.RbacV1(), policy.Default()) })
	}
	if err := concurrent.Wait(); err != nil {
		t.Fatalf("two concurrent calls: %v", err)
	}
	aggregate(t, client)
	before := versions(t, client)
	if got, want := len(before), len(policy.ClusterRoles())+len(policy.ClusterRoleBindings()); got != want {
		t.Errorf("%d objects, want %d", got, want)
	}
	reconcile(t, client)
	if diff := cmp.Diff(before, versions(t, client)); diff != "" {
		t.Errorf("the second call wrote something (-before +after):\n%s", diff)
	}
}

// TestReconcileChangedObjects changes default objects and expects that Reconcile
// restores missing rules and subjects, keeps additional ones, and skips objects that
// have automatic updates turned off.
func TestReconcileChangedObjects(t *testing.T) {
	client := servertest.Start(t, apiserver.Config{}).Client(t)
	reconcile(t, client)
	extra := rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{"widgets"}, Verbs: []string{"get"}}
	change(t, client, "system:basic-user", func(role *rbacv1.ClusterRole) { role.Rules = []rbacv1.PolicyRule{extra} })
	change(t, client, "system:discovery", func(role *rbacv1.ClusterRole) {
		role.Rules, role.Annotations[rbacv1.AutoUpdateAnnotationKey] = nil, "false"
	})
	change(t, client, "view", func(role *rbacv1.ClusterRole) { role.AggregationRule, role.Labels = nil, nil })
	bindings := client.RbacV1().ClusterRoleBindings()
	if err := bindings.Delete(t.Context(), "system:monitoring", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	other := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "system:monitoring"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
	}
	if _, err := bindings.Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	reconcile(t, client)

	if rules := get(t, client, "system:basic-user").Rules; len(rules) != 4 || !cmp.Equal(rules[0], extra) {
		t.Errorf("rules of system:basic-user: %v, want the added rule and the three default rules", rules)
	}
	if rules := get(t, client, "system:discovery").Rules; len(rules) != 0 {
		t.Errorf("rules of system:discovery: %v, want none, because automatic updates are off", rules)
	}
	view := get(t, client, "view")
	if view.AggregationRule == nil || view.Labels["rbac.authorization.k8s.io/aggregate-to-edit"] != "true" {
		t.Errorf("view: aggregation %v, labels %v", view.AggregationRule, view.Labels)
	}
	binding, err := bindings.Get(t.Context(), "system:monitoring", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if binding.RoleRef.Name != "system:monitoring" || len(binding.Subjects) != 1 {
		t.Errorf("binding system:monitoring: %v to %v", binding.RoleRef, binding.Subjects)
	}
}

func reconcile(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	if err := policy.Reconcile(t.Context(), client.RbacV1(), policy.Default()); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, client kubernetes.Interface, name string) *rbacv1.ClusterRole {
	t.Helper()
	role, err := client.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return role
}

func change(t *testing.T, client kubernetes.Interface, name string, edit func(*rbacv1.ClusterRole)) {
	t.Helper()
	// The server may aggregate the rules of a role at the same time. The update then conflicts, and is tried again.
	waittest.Until(t, "role "+name+" is changed", func() error {
		role := get(t, client, name)
		edit(role)
		_, err := client.RbacV1().ClusterRoles().Update(t.Context(), role, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		return err
	})
}

// aggregate runs the aggregation controller until the role admin has all rules of
// the roles edit and view.
func aggregate(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(client, 0)
	controller, err := rbac.NewAggregation(client.RbacV1(), factory.Rbac().V1().ClusterRoles())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.StartWithContext(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		controller.Run(ctx)
	}()
	defer func() {
		cancel()
		<-stopped
		factory.Shutdown()
	}()
	changes, err := client.RbacV1().ClusterRoles().Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=admin"})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	// own is the number of rules that a role has besides those of the role below it.
	own := map[string]int{}
	for _, role := range policy.ClusterRoles() {
		if name, found := strings.CutPrefix(role.Name, "system:aggregate-to-"); found {
			own[name] = len(role.Rules)
		}
	}
	for {
		event := waittest.Receive(t, "admin has the rules of edit", changes.ResultChan())
		admin, ok := event.Object.(*rbacv1.ClusterRole)
		if !ok {
			t.Fatalf("watch: %v", event.Object)
		}
		if edit := get(t, client, "edit"); len(edit.Rules) == own["view"]+own["edit"] && len(admin.Rules) == len(edit.Rules)+own["admin"] {
			return
		}
	}
}
