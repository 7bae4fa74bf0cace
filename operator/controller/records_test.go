package controller_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/authorship"
)

// plain is an operator that applies a ConfigMap with its parameter SIZE.
const plain = `
parameters: [{name: SIZE, default: "1"}]
templates: {a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}'}, data: {size: '{{ .Params.SIZE }}'}}"}
tasks: [{name: a, kind: Apply, spec: {resources: [a.yaml]}}]
plans: {deploy: {phases: [{name: main, steps: [{name: a, tasks: [a]}]}]}}
`

// TestForgedRecords checks that nothing runs for a record that a client writes while the
// server does not admit operator packages, not even after the server does so again.
func TestForgedRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, stop := startAt(t, apiserver.Config{DataDir: dir})
	c.operator(t, "plain", "0.1.0", plain)
	c.install(t, "genuine", "plain-0.1.0", map[string]string{"SIZE": "2"})
	c.awaitComplete(t, "genuine")
	genuine := c.instance(t, "genuine")
	stop()

	c, stop = startAt(t, apiserver.Config{DataDir: dir, WithoutOperators: true})
	bind(t, c, rbacv1.UserKind, "eve", "edit")
	eve := c.as("eve")
	forged := map[string]func(*api.Instance){
		"plain-requester": func(i *api.Instance) {
			i.Annotations[api.RequesterAnnotation] = `{"username":"root","groups":["system:masters"]}`
			delete(i.Annotations, api.SealedRecordAnnotation)
		},
		"copied-record": func(*api.Instance) {},
		"copied-values": func(i *api.Instance) { i.Spec.Parameters = map[string]string{"SIZE": "666"} },
	}
	for name, forge := range forged {
		instance := genuine.DeepCopy()
		forge(instance)
		instance.ObjectMeta = metav1.ObjectMeta{Name: name, Annotations: instance.Annotations}
		instance.Status = api.InstanceStatus{}
		instance.Spec.PlanExecution = api.PlanExecution{PlanName: "deploy", UID: genuine.Status.PlanStatus["deploy"].UID}
		servertest.Eventually(t, name+" is created", func() bool { return eve.create(t, "instances", instance) == nil })
	}
	// The same run with another value, and a new Instance in place of the genuine one.
	if err := eve.change(t, "genuine", func(i *api.Instance) {
		i.Spec.PlanExecution.PlanName, i.Spec.Parameters["SIZE"] = "deploy", "666"
	}); err != nil {
		t.Fatal(err)
	}
	stop()

	c, _ = startAt(t, apiserver.Config{DataDir: dir})
	for _, name := range []string{"plain-requester", "copied-record", "copied-values"} {
		ready := c.awaitEnd(t, name)
		if ready.Reason != string(api.FatalError) || !strings.Contains(ready.Message, "it is not known which user requested the plan") {
			t.Errorf("%s: %s: %s", name, ready.Reason, ready.Message)
		}
		if c.get(t, "configmaps", name) != nil {
			t.Errorf("%s: the plan ran", name)
		}
	}
	servertest.Eventually(t, "the genuine run ended", func() bool { return c.instance(t, "genuine").Spec.PlanExecution.PlanName == "" })
	if size, _, _ := unstructured.NestedString(c.get(t, "configmaps", "genuine").Object, "data", "size"); size != "2" {
		t.Errorf("the plan ran with size %s", size)
	}

	// A new request runs as the user that makes it. A value of an unknown author does not run.
	for name, message := range map[string]string{
		"plain-requester": "it is not known which user set the value of parameter 'SIZE'",
		"copied-values":   "it is not known which user set the value of parameter 'SIZE'",
	} {
		if err := c.change(t, name, func(i *api.Instance) { i.Spec.PlanExecution.PlanName = "deploy" }); err != nil {
			t.Fatal(err)
		}
		c.awaitMessage(t, name, message)
	}
	if err := c.change(t, "copied-values", func(i *api.Instance) { i.Spec.Parameters["SIZE"] = "5" }); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "copied-values")
}

// startAt starts a server for one test alone. It returns the clients of the administrator, and a
// function that stops the server before the test ends.
func startAt(t *testing.T, config apiserver.Config) (c cluster, stop func()) {
	t.Helper()
	server := servertest.Start(t, config)
	return newCluster(server.Config(t), server.Config(t)), func() {
		t.Helper()
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecord checks what readers of an Instance see, and that the record is bound to the
// Instance once the controller has seen it.
func TestRecord(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "plain", "0.1.0", plain)
	jane := c.as("jane", "system:masters", "secret-project")
	jane.mustCreate(t, "instances", `{metadata: {generateName: mine-}, spec: {operatorVersion: {name: plain-0.1.0}, parameters: {SIZE: "2"}}}`)
	list, err := c.kudo("instances").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	name := list.Items[0].GetName()
	c.awaitComplete(t, name)
	instance := c.instance(t, name)
	if got, want := instance.Annotations[api.RequesterAnnotation], `{"username":"jane","authors":{"SIZE":["jane"]}}`; got != want {
		t.Errorf("requested by %s, want %s", got, want)
	}
	for annotation, text := range instance.Annotations {
		if strings.Contains(text, "secret-project") {
			t.Errorf("%s shows groups: %s", annotation, text)
		}
	}
	record, err := c.controllerConfig(c.config).Keys.Record(t.Context(), instance)
	if err != nil || record.Instance != instance.UID || record.Requester.Username != "jane" {
		t.Errorf("record %+v, %v", record, err)
	}
	// A write that changes nothing does not seal the record again. The controller may write the status meanwhile: then the
	// update conflicts, and is tried again.
	var sent, answered string
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		read, err := c.kudo("instances").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		sent = read.GetResourceVersion()
		written, err := c.kudo("instances").Update(t.Context(), read, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		answered = written.GetResourceVersion()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if sent != answered {
		t.Error("a write without a change changed the Instance")
	}
}

// testAccountRecreated checks that a plan does not run for a service account that was deleted
// and created again.
func testAccountRecreated(t *testing.T, c cluster) {
	c.operator(t, "plain", "0.1.0", plain)
	accounts := c.typed.CoreV1().ServiceAccounts(c.namespace)
	robot := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	created, err := accounts.Create(t.Context(), robot, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	user := c.login(c.impersonating(rest.ImpersonationConfig{
		UserName: "system:serviceaccount:default:robot", UID: string(created.UID), Groups: []string{"system:masters", "system:authenticated"},
	}))
	for _, name := range []string{"gone", "replaced"} {
		user.install(t, name, "plain-0.1.0", nil)
	}
	if err := accounts.Delete(t.Context(), "robot", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	k := &killer{left: -1, created: map[string]int{}}
	ended := c.control(t, k)
	c.awaitMessage(t, "gone", "service account default/robot does not exist any more: request the plan again")
	k.kill()
	<-ended

	user.install(t, "later", "plain-0.1.0", nil)
	if _, err := accounts.Create(t.Context(), robot, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ended = c.control(t, k)
	c.awaitMessage(t, "later", "service account default/robot was deleted and created again: request the plan again")
	k.kill()
	<-ended
	for _, name := range []string{"gone", "replaced", "later"} {
		if c.get(t, "configmaps", name) != nil {
			t.Errorf("%s: the plan ran", name)
		}
	}
}

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
	servertest.Eventually(t, name+" is gone", func() bool {
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
	servertest.Grant(t, c.typed, rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "eve"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"kudo.dev"}, Resources: []string{"instances"}, Verbs: []string{"get", "delete", "deletecollection"}},
		},
	})
	eve := c.as("eve")
	servertest.Eventually(t, "eve may delete instances", func() bool {
		return eve.kudo("instances").Delete(t.Context(), "dry", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}) == nil
	})
	if maps := c.deletions(t); len(maps) != 0 {
		t.Errorf("a dry run is recorded: %v", maps)
	}
	// The resourceVersion is that of the Instance, so recording the deleter must not change it.
	version := c.instance(t, "by-eve").ResourceVersion
	if err := eve.kudo("instances").Delete(t.Context(), "by-eve", metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{ResourceVersion: &version},
	}); err != nil {
		t.Fatal(err)
	}
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
	owner, err := c.typed.CoreV1().ConfigMaps(c.namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.change(t, "collected", func(i *api.Instance) {
		i.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.typed.CoreV1().ConfigMaps(c.namespace).Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
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
	servertest.Eventually(t, "the records are deleted", func() bool { return len(c.deletions(t)) == 0 })
}

// deletions returns the records of deleters.
func (c cluster) deletions(t *testing.T) []corev1.ConfigMap {
	t.Helper()
	list, err := c.typed.CoreV1().ConfigMaps(metav1.NamespaceSystem).List(t.Context(),
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

// TestServerIsNoRequester checks that an Instance which a user with the name of the server
// creates runs nothing.
func TestServerIsNoRequester(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "plain", "0.1.0", plain)
	for i, name := range []string{"system:apiserver", authorship.ControllerUser} {
		instance := []string{"first", "second"}[i]
		c.as(name, "system:masters").install(t, instance, "plain-0.1.0", nil)
		if ready := c.awaitEnd(t, instance); ready.Reason != string(api.FatalError) || c.get(t, "configmaps", instance) != nil {
			t.Errorf("%s: %s: %s", name, ready.Reason, ready.Message)
		}
	}
}
