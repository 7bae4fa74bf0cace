package kudo_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// testStockDeletion checks that the cleanup of an Instance has the rights of the user that
// deletes it.
func testStockDeletion(t *testing.T, s *stock) {
	if err := s.create(t, `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: precious-0.1.0}
spec:
  operator: {name: precious}
  version: 0.1.0
  templates: {left.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-precious'}}"}
  tasks: [{name: clean, kind: Delete, spec: {resources: [left.yaml]}}, {name: nothing, kind: Dummy, spec: {done: true}}]
  plans:
    deploy: {phases: [{name: main, steps: [{name: nothing, tasks: [nothing]}]}]}
    cleanup: {phases: [{name: main, steps: [{name: clean, tasks: [clean]}]}]}
`); err != nil {
		t.Fatal(err)
	}
	objects := s.CoreV1().ConfigMaps(s.Namespace)
	for _, name := range []string{"by-dan", "by-admin"} {
		if err := s.create(t, `{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: `+name+`},
  spec: {operatorVersion: {name: precious-0.1.0}}}`); err != nil {
			t.Fatal(err)
		}
		s.awaitEnd(t, name)
		// The second owner keeps the garbage collector from deleting the object with the Instance.
		keeper, err := objects.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-keeper"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-precious", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: keeper.Name, UID: keeper.UID},
			{APIVersion: "kudo.dev/v1beta1", Kind: "Instance", Name: name, UID: s.instance(t, name).UID},
		}}}
		if _, err := objects.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	servertest.Grant(t, s.Interface, rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "dan"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"kudo.dev"}, Resources: []string{"instances"}, Verbs: []string{"delete"}}},
	})
	dan := s.cluster
	dan.Dynamic = dynamic.NewForConfigOrDie(s.server.As(t, "dan"))
	dryRun := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	waittest.Until(t, "dan may delete instances", func() bool {
		return dan.resource("instances").Delete(t.Context(), "by-admin", dryRun) == nil
	})
	for name, by := range map[string]cluster{"by-dan": dan, "by-admin": s.cluster} {
		if err := by.resource("instances").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, name+" is gone", func() bool {
			_, err := s.resource("instances").Get(t.Context(), name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
	if _, err := objects.Get(t.Context(), "by-dan-precious", metav1.GetOptions{}); err != nil {
		t.Errorf("the cleanup had more rights than dan, who deleted the instance: %v", err)
	}
	if _, err := objects.Get(t.Context(), "by-admin-precious", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the cleanup did not have the rights of the administrator: %v", err)
	}
}

// testStockVersionInUse checks that an OperatorVersion cannot be deleted while an Instance uses
// it, and that its namespace can.
func testStockVersionInUse(t *testing.T, s *stock) {
	if err := s.create(t, tokVersions+"---\n"+tokInstance); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd(t, "tok")
	want := `admission webhook "deletions.kudo.dev" denied the request: Operation cannot be fulfilled on operatorversions.kudo.dev ` +
		`"tok-0.1.0": instances use it: in-use/tok. Uninstall them or upgrade them to another version first`
	if err := s.resource("operatorversions").Delete(t.Context(), "tok-0.1.0", metav1.DeleteOptions{}); !apierrors.IsConflict(err) ||
		err.Error() != want {
		t.Errorf("%v", err)
	}
	if err := s.resource("operatorversions").Delete(t.Context(), "tok-0.2.0", metav1.DeleteOptions{}); err != nil {
		t.Errorf("of no instance: %v", err)
	}
	namespaces := s.CoreV1().Namespaces()
	if err := namespaces.Delete(t.Context(), s.Namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the namespace is gone", func() bool {
		_, err := namespaces.Get(t.Context(), s.Namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
