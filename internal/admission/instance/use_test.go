package instance_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// tidy is an OperatorVersion with a cleanup that creates a ClusterRole, which outlives the
// namespace.
const tidy = `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: tidy-0.1.0}
spec:
  operator: {name: tidy}
  version: 0.1.0
  templates: {mark.yaml: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'cleaned-{{ .Namespace }}'}}"}
  tasks: [{name: mark, kind: Apply, spec: {resources: [mark.yaml]}}, {name: nothing, kind: Dummy, spec: {done: true}}]
  plans:
    deploy: {phases: [{name: main, steps: [{name: nothing, tasks: [nothing]}]}]}
    cleanup: {phases: [{name: main, steps: [{name: mark, tasks: [mark]}]}]}
`

// usage is one namespace of the server that the tests of deletions share.
type usage struct {
	server    *servertest.Server
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
	namespace string
}

func (u usage) resource(name string) dynamic.ResourceInterface {
	return u.dynamic.Resource(api.GroupVersion.WithResource(name)).Namespace(u.namespace)
}

// create creates an object of a resource of kudo.dev from YAML.
func (u usage) create(t *testing.T, resource, text string) {
	t.Helper()
	if _, err := u.resource(resource).Create(t.Context(), yamltest.Object(t, text), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// enter creates a namespace and returns the usage of it.
func (u usage) enter(t *testing.T, name string) usage {
	t.Helper()
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := u.typed.CoreV1().Namespaces().Create(t.Context(), created, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	u.namespace = name
	return u
}

// deleteVersion deletes an OperatorVersion.
func (u usage) deleteVersion(t *testing.T, name string, dryRun ...string) error {
	t.Helper()
	return u.resource("operatorversions").Delete(t.Context(), name, metav1.DeleteOptions{DryRun: dryRun})
}

// deleteNamespace deletes the namespace and waits until it is gone.
func (u usage) deleteNamespace(t *testing.T) {
	t.Helper()
	namespaces := u.typed.CoreV1().Namespaces()
	if err := namespaces.Delete(t.Context(), u.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "namespace "+u.namespace+" is gone", func() bool {
		_, err := namespaces.Get(t.Context(), u.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// awaitNoInstance waits until the Instance is gone.
func (u usage) awaitNoInstance(t *testing.T, name string) {
	t.Helper()
	waittest.Until(t, "instance "+name+" is gone", func() bool {
		_, err := u.resource("instances").Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// TestDeletionOfVersionInUse checks that an OperatorVersion cannot be deleted while Instances
// use it, and that no other deletion waits for it for ever.
func TestDeletionOfVersionInUse(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	u := usage{server: server, typed: server.Client(t), dynamic: dynamic.NewForConfigOrDie(server.Config(t))}
	for name, test := range map[string]func(*testing.T, usage){
		"refused":     testDeletionRefused,
		"undisclosed": testDeletionUndisclosed,
		"namespace":   testNamespaceDeleted,
		"foreign":     testForeignNamespaceDeleted,
		"foreground":  testForegroundOwner,
	} {
		t.Run(name, func(t *testing.T) { test(t, u.enter(t, name)) })
	}
}

func testDeletionRefused(t *testing.T, u usage) {
	u.create(t, "operatorversions", version)
	u.create(t, "instances", tok)
	want := `Operation cannot be fulfilled on operatorversions.kudo.dev "tok-0.1.0": instances use it: refused/tok. ` +
		"Uninstall them or upgrade them to another version first"
	all := u.resource("operatorversions").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
	for how, err := range map[string]error{
		"delete": u.deleteVersion(t, "tok-0.1.0"), "dry run": u.deleteVersion(t, "tok-0.1.0", metav1.DryRunAll), "all": all,
	} {
		if !apierrors.IsConflict(err) || err.Error() != want {
			t.Errorf("%s: %v", how, err)
		}
	}
	if err := u.resource("instances").Delete(t.Context(), "tok", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	u.awaitNoInstance(t, "tok")
	if err := u.deleteVersion(t, "tok-0.1.0"); err != nil {
		t.Errorf("of no instance: %v", err)
	}
}

// testDeletionUndisclosed checks that a refusal does not name Instances that the user may
// not get.
func testDeletionUndisclosed(t *testing.T, u usage) {
	u.create(t, "operatorversions", version)
	u.create(t, "instances", tok)
	servertest.Grant(t, u.typed, rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.namespace, Name: "pat"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"kudo.dev"}, Resources: []string{"operatorversions"}, Verbs: []string{"*"}}},
	})
	pat := u
	pat.dynamic = dynamic.NewForConfigOrDie(u.server.As(t, "pat"))
	waittest.Until(t, "pat gets a conflict", func() bool {
		err := pat.deleteVersion(t, "tok-0.1.0")
		if apierrors.IsConflict(err) && !strings.Contains(err.Error(), "instances use it: 1 in total. ") {
			t.Errorf("pat reads %v", err)
		}
		return apierrors.IsConflict(err)
	})
}

// testNamespaceDeleted checks that the cleanup of an Instance runs when its namespace is
// deleted: the OperatorVersion stays until then.
func testNamespaceDeleted(t *testing.T, u usage) {
	u.create(t, "operatorversions", tidy)
	u.create(t, "instances", strings.ReplaceAll(tok, "tok", "tidy"))
	// An Instance that no plan has run for has nothing to clean up.
	waittest.Until(t, "the controller has begun", func() bool {
		instance, err := u.resource("instances").Get(t.Context(), "tidy", metav1.GetOptions{})
		return err == nil && len(instance.GetFinalizers()) > 0
	})
	u.deleteNamespace(t)
	if _, err := u.typed.RbacV1().ClusterRoles().Get(t.Context(), "cleaned-"+u.namespace, metav1.GetOptions{}); err != nil {
		t.Errorf("the cleanup did not run: %v", err)
	}
}

// testForeignNamespaceDeleted checks that an OperatorVersion cannot be deleted while an Instance
// in another namespace uses it, but that the namespace of the OperatorVersion can.
func testForeignNamespaceDeleted(t *testing.T, u usage) {
	u.create(t, "operatorversions", version)
	other := u.enter(t, "foreign-user")
	other.create(t, "instances", strings.Replace(tok, "{name: tok-0.1.0}", "{name: tok-0.1.0, namespace: foreign}", 1))
	if err := u.deleteVersion(t, "tok-0.1.0"); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "use it: foreign-user/tok. ") {
		t.Errorf("of an instance in another namespace: %v", err)
	}
	u.deleteNamespace(t)
}

// testForegroundOwner checks that the garbage collector can delete an OperatorVersion before
// the Instance that owns it.
func testForegroundOwner(t *testing.T, u usage) {
	u.create(t, "operatorversions", tidy)
	u.create(t, "instances", strings.ReplaceAll(tok, "tok", "tidy"))
	owner, err := u.resource("instances").Get(t.Context(), "tidy", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned, err := u.resource("operatorversions").Get(t.Context(), "tidy-0.1.0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: api.GroupVersion.String(), Kind: "Instance", Name: "tidy", UID: owner.GetUID(), BlockOwnerDeletion: new(true),
	}})
	if _, err := u.resource("operatorversions").Update(t.Context(), owned, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	foreground := metav1.DeletePropagationForeground
	if err := u.resource("instances").Delete(t.Context(), "tidy", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	u.awaitNoInstance(t, "tidy")
	// If the garbage collector learns of the owner reference after the deletion, it deletes the operator version afterwards.
	waittest.Until(t, "the operator version is gone", func() bool {
		_, err := u.resource("operatorversions").Get(t.Context(), "tidy-0.1.0", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
