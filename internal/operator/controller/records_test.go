package controller_test

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/waittest"
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
		waittest.Until(t, name+" is created", func() bool { return eve.create(t, "instances", instance) == nil })
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
	waittest.Until(t, "the genuine run ended", func() bool { return c.instance(t, "genuine").Spec.PlanExecution.PlanName == "" })
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
	return cluster{Cluster: server.Cluster(t), admin: server.Config(t)}, func() {
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
	record, err := c.controllerConfig(c.Config).Keys.Record(t.Context(), instance)
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
