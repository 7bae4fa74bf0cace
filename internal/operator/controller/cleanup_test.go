package controller_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// precious is an operator that deletes a ConfigMap when it is cleaned up.
const precious = `
templates:
  a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}'}}"
  left.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-precious'}}"
tasks:
- {name: a, kind: Apply, spec: {resources: [a.yaml]}}
- {name: clean, kind: Delete, spec: {resources: [left.yaml]}}
plans:
  deploy: {phases: [{name: main, steps: [{name: a, tasks: [a]}]}]}
  cleanup: {phases: [{name: main, steps: [{name: clean, tasks: [clean]}]}]}
`

// precious installs an Instance as the administrator, with an object that its cleanup deletes.
func (c cluster) precious(t *testing.T, name string) {
	t.Helper()
	c.install(t, name, "precious-0.1.0", nil)
	c.awaitComplete(t, name)
	c.keep(t, name+"-precious", name)
}

func (c cluster) awaitGone(t *testing.T, name string) {
	t.Helper()
	waittest.Until(t, name+" is gone", func() bool {
		_, err := c.kudo("instances").Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// TestCleanupRights checks that the cleanup of an Instance has the rights of the user that
// deletes it, and those of the last requester if a controller of the cluster deletes it.
func TestCleanupRights(t *testing.T) {
	t.Parallel()
	c, _ := startAt(t, apiserver.Config{}) // the test counts the records of all namespaces
	c.operator(t, "precious", "0.1.0", precious)
	for _, name := range []string{"by-eve", "by-admin", "dry", "collected", "in-collection"} {
		c.precious(t, name)
	}
	servertest.Grant(t, c.Interface, rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "eve"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"kudo.dev"}, Resources: []string{"instances"}, Verbs: []string{"get", "delete", "deletecollection"}},
		},
	})
	eve := c.as("eve")
	waittest.Until(t, "eve may delete instances", func() bool {
		return eve.kudo("instances").Delete(t.Context(), "dry", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}) == nil
	})
	if maps := c.deletions(t); len(maps) != 0 {
		t.Errorf("a dry run is recorded: %v", maps)
	}
	// The resourceVersion is that of the Instance, so recording the deleter must not change it.
	// The controller may still write the status after the plan has ended.
	waittest.Until(t, "eve deletes a version of the instance", func() error {
		version := c.instance(t, "by-eve").ResourceVersion
		err := eve.kudo("instances").Delete(t.Context(), "by-eve", metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{ResourceVersion: &version},
		})
		if err != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		return err
	})
	c.awaitGone(t, "by-eve")
	if c.get(t, "configmaps", "by-eve-precious") == nil {
		t.Error("the cleanup had more rights than eve, who deleted the instance")
	}
	if err := c.kudo("instances").Delete(t.Context(), "by-admin", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitGone(t, "by-admin")
	if c.get(t, "configmaps", "by-admin-precious") != nil {
		t.Error("the cleanup had fewer rights than the administrator, who deleted the instance")
	}

	// The garbage collector deletes the Instance with its owner, no matter which user deletes the owner.
	owner, err := c.CoreV1().ConfigMaps(c.Namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.change(t, "collected", func(i *api.Instance) {
		i.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.CoreV1().ConfigMaps(c.Namespace).Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitGone(t, "collected")
	if c.get(t, "configmaps", "collected-precious") != nil {
		t.Error("the cleanup did not have the rights of the last requester")
	}

	if err := eve.kudo("instances").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dry", "in-collection"} {
		c.awaitGone(t, name)
		if c.get(t, "configmaps", name+"-precious") == nil {
			t.Errorf("%s: the cleanup had more rights than eve, who deleted all instances", name)
		}
	}
	waittest.Until(t, "the records are deleted", func() bool { return len(c.deletions(t)) == 0 })
}

// deletions returns the records of deleters.
func (c cluster) deletions(t *testing.T) []corev1.ConfigMap {
	t.Helper()
	list, err := c.CoreV1().ConfigMaps(metav1.NamespaceSystem).List(t.Context(),
		metav1.ListOptions{LabelSelector: "holdfast.dev/instance-deletion"})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// TestDeletedPastAdmission checks that the cleanup waits if it is not known which user deleted
// the Instance, until a user deletes it again.
func TestDeletedPastAdmission(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, stop := startAt(t, apiserver.Config{DataDir: dir})
	c.operator(t, "precious", "0.1.0", precious)
	c.precious(t, "mine")
	stop()
	c, stop = startAt(t, apiserver.Config{DataDir: dir, WithoutOperators: true})
	if err := c.kudo("instances").Delete(t.Context(), "mine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	stop()
	c, _ = startAt(t, apiserver.Config{DataDir: dir})
	c.awaitMessage(t, "mine", "deletion: it is not known which user deleted the instance: delete it again, to clean up with your rights")
	if c.get(t, "configmaps", "mine-precious") == nil {
		t.Error("the cleanup ran")
	}
	if err := c.kudo("instances").Delete(t.Context(), "mine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitGone(t, "mine")
	if c.get(t, "configmaps", "mine-precious") != nil {
		t.Error("the cleanup did not run")
	}
}
