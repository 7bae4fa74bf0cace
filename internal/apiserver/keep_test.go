package apiserver_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// noDelete is a rule for the objects of a resource.
type noDelete struct {
	resource string
	// guards is called before each question about the resource, and decide returns the rule that forbids a deletion. Both may be nil.
	guards func()
	decide func(keep.Deletion) *keep.Rule
}

// Guards implements keep.Rules.
func (r noDelete) Guards(resource schema.GroupResource) bool {
	if resource.Resource != r.resource {
		return false
	}
	if r.guards != nil {
		r.guards()
	}
	return true
}

// NoDelete implements keep.Rules.
func (r noDelete) NoDelete(_ context.Context, deletion keep.Deletion) (*keep.Rule, error) {
	if r.decide == nil {
		return nil, nil
	}
	return r.decide(deletion), nil
}

// unlessRetire is the rule "no-delete unless retire while oldSelf.metadata.labels.phase == 'Ready'", where only the user alice has the
// verb.
func unlessRetire(deletion keep.Deletion) *keep.Rule {
	labels := (&unstructured.Unstructured{Object: deletion.Object}).GetLabels()
	if labels["phase"] != "Ready" || deletion.User != nil && deletion.User.GetName() == "alice" {
		return nil
	}
	return &keep.Rule{Mark: immutability.Mark{Unless: "retire"}}
}

func wantKept(t *testing.T, err error, text string) {
	t.Helper()
	if !apierrors.IsConflict(err) || !keep.IsRefusal(err) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want a refusal with %q", err, text)
	}
}

// A rule keeps the objects that it selects, whose namespace is then kept too, although the user of the deletion has the verb. An
// eviction is a deletion.
func TestNoDeleteRule(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	server.Keep().SetRules(noDelete{resource: "pods", decide: unlessRetire})
	client := server.Client(t)
	alice := servertest.NewCluster(server.As(t, "alice", "system:masters"))
	namespace := servertest.CreateNamespace(t, client, "rules")
	pods := client.CoreV1().Pods(namespace)
	for name, phase := range map[string]string{"a": "Ready", "b": "Ready", "free": "New"} {
		pod := yamltest.Decode[corev1.Pod](t, `{metadata: {name: `+name+`, labels: {phase: `+phase+`}}, spec: {containers: [{name: a, image: a}]}}`)
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	wantKept(t, pods.Delete(t.Context(), "a", metav1.DeleteOptions{}), `pods "a" cannot be deleted: the rule "no-delete unless retire" keeps it`)
	evict := func(cluster servertest.Cluster, name string) error {
		return cluster.PolicyV1().Evictions(namespace).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}})
	}
	wantKept(t, evict(server.Cluster(t), "a"), `the rule "no-delete unless retire" keeps it`)
	if found, err := pods.Get(t.Context(), "a", metav1.GetOptions{}); err != nil || len(found.Status.Conditions) > 0 || found.DeletionTimestamp != nil {
		t.Errorf("the pod after a refused eviction: %v, %v", err, found)
	}
	for _, user := range []servertest.Cluster{server.Cluster(t), alice} {
		wantKept(t, user.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}),
			"it holds 2 objects that must be kept: pods/a, pods/b;")
	}
	wantKept(t, pods.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}), "2 objects of pods must be kept")
	if list, err := pods.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 2 {
		t.Errorf("after the deletion of all: %v, %v", list, err)
	}
	if err := evict(alice, "a"); err != nil {
		t.Errorf("an eviction by a user with the verb: %v", err)
	}
	if err := alice.CoreV1().Pods(namespace).Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion by a user with the verb: %v", err)
	}
}

// An object that becomes kept when its definition is terminating stays, and the definition names it.
func TestKeptInTerminatingDefinition(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	c := server.Cluster(t)
	if _, err := c.Dynamic.Resource(crdResource).Create(t.Context(), yamltest.Object(t, thingDefinition), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	establishedOn(t, c.Dynamic)
	things := c.Dynamic.Resource(thingResource).Namespace("default")
	object := yamltest.Object(t, `{apiVersion: replicas.example.com/v1, kind: Thing, metadata: {name: o}, spec: {a: x}}`)
	if _, err := things.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The server asks twice when it decides about the definition, before and after it closes the kind, and then when it deletes the object.
	var asked atomic.Int64
	var released atomic.Bool
	server.Keep().SetRules(noDelete{resource: "things", decide: func(keep.Deletion) *keep.Rule {
		if asked.Add(1) <= 2 || released.Load() {
			return nil
		}
		return &keep.Rule{}
	}})
	const name = "things.replicas.example.com"
	if err := c.Dynamic.Resource(crdResource).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the definition names the object", func() bool {
		found, err := c.Dynamic.Resource(crdResource).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := found.MarshalJSON()
		return strings.Contains(string(text), `1 left: things.replicas.example.com \"o\" cannot be deleted`)
	})
	released.Store(true)
	waittest.Until(t, "the definition is gone", func() bool {
		_, err := c.Dynamic.Resource(crdResource).Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
