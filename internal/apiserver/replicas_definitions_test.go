package apiserver_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

var (
	crdResource   = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	thingResource = schema.GroupVersionResource{Group: "replicas.example.com", Version: "v1", Resource: "things"}
)

const thingDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.replicas.example.com}
spec:
  group: replicas.example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties: {spec: {type: object, properties: {a: {type: string}, num: {type: integer}}}}
`

// establishedOn waits until a watch on a server shows the definition as established.
func establishedOn(t *testing.T, client dynamic.Interface) {
	t.Helper()
	named := metav1.ListOptions{FieldSelector: "metadata.name=things.replicas.example.com"}
	watcher, err := client.Resource(crdResource).Watch(t.Context(), named)
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		crd, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("the watch shows %v", event.Object)
		}
		if crd.GetDeletionTimestamp() != nil {
			continue // an earlier definition of the name
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		for _, item := range conditions {
			if c, ok := item.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				return
			}
		}
	}
	t.Fatal("the watch ended")
}

// A definition that is written through one server is served, changed and removed on all
// servers.
func TestReplicasServeDefinitions(t *testing.T) {
	t.Parallel()
	cluster := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	one := dynamic.NewForConfigOrDie(servertest.Start(t, apiserver.Config{DataDir: t.TempDir(), Etcd: cluster}).Config(t))
	two := dynamic.NewForConfigOrDie(servertest.Start(t, apiserver.Config{DataDir: t.TempDir(), Etcd: cluster}).Config(t))
	create := func(ctx context.Context) error {
		_, err := one.Resource(crdResource).Create(ctx, yamltest.Object(t, thingDefinition), metav1.CreateOptions{})
		return err
	}

	if err := create(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A client that sees the condition Established can use the resource, on either server.
	establishedOn(t, two)
	things := two.Resource(thingResource).Namespace("default")
	if _, err := things.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("established, and not served: %v", err)
	}
	object := yamltest.Object(t, `{apiVersion: replicas.example.com/v1, kind: Thing, metadata: {name: o}, spec: {a: x}}`)
	if _, err := things.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	marker := []byte(`[{"op": "add", "value": true, "path": ` +
		`"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/x-kubernetes-immutable"}]`)
	_, err := one.Resource(crdResource).Patch(t.Context(), "things.replicas.example.com", types.JSONPatchType, marker, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change := func(client dynamic.Interface) error {
		_, err := client.Resource(thingResource).Namespace("default").Patch(t.Context(), "o", types.MergePatchType,
			[]byte(`{"spec": {"a": "other"}}`), metav1.PatchOptions{DryRun: []string{"All"}})
		return err
	}
	refused := func(err error) bool {
		return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "spec.a: field is immutable")
	}
	// The change is in force at once on the server that answered it, soon on the other.
	if err := change(one); !refused(err) {
		t.Errorf("on the server that took the marker: %v", err)
	}
	waittest.Until(t, "the marker holds on the other server", func() bool { return refused(change(two)) })

	if err := two.Resource(crdResource).Delete(t.Context(), "things.replicas.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]dynamic.Interface{"one": one, "two": two} {
		waittest.Until(t, "the objects are gone from server "+name, func() bool {
			_, err := client.Resource(thingResource).Namespace("default").List(t.Context(), metav1.ListOptions{})
			return apierrors.IsNotFound(err)
		})
	}
	// The same definition, created again, has no objects.
	waittest.Until(t, "the name is free", func() bool { return create(t.Context()) == nil })
	establishedOn(t, two)
	list, err := things.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("a new definition has %v, %v", list, err)
	}
}

// An object is stored only if the definition accepts it that is in force at that moment, although the server that judges the write
// learns of a change of the definition a moment later.
func TestReplicasJudgeByCurrentDefinition(t *testing.T) {
	t.Parallel()
	one, two := startReplicas(t)
	definer, writer := one.Cluster(t).Dynamic, two.Cluster(t).Dynamic
	defineThings(t, nil, definer, writer)
	things := writer.Resource(thingResource).Namespace("default")
	created, err := things.Create(t.Context(), yamltest.Object(t, thing), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	type state struct {
		revision int
		value    string
	}
	revisionOf := func(obj *unstructured.Unstructured) int {
		revision, err := strconv.Atoi(obj.GetResourceVersion())
		if err != nil {
			t.Error(err)
		}
		return revision
	}
	values := []string{"x", "y"}
	ctx, cancel := context.WithCancel(t.Context())
	var allowed, stored []state
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			value := values[i%2]
			patch := fmt.Appendf(nil, `[{"op": "add", "value": %q, "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/pattern"}]`, value)
			// The last patch must be answered too: its state counts for the writes after it.
			crd, err := definer.Resource(crdResource).Patch(t.Context(), thingName, types.JSONPatchType, patch, metav1.PatchOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			allowed = append(allowed, state{revisionOf(crd), value})
		}
	})
	refused := 0
	for i := range 300 {
		value := values[i%2]
		// Each value is new: the server accepts a stored value that is no longer valid if a write does not change it.
		patch := fmt.Appendf(nil, `{"spec": {"a": "%s%d"}}`, value, i)
		obj, err := things.Patch(ctx, created.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
		switch {
		case err == nil:
			stored = append(stored, state{revisionOf(obj), value})
		case apierrors.IsInvalid(err):
			refused++
		default:
			t.Error(err)
		}
	}
	cancel()
	running.Wait()
	for _, object := range stored {
		inForce := ""
		for _, definition := range allowed {
			if definition.revision < object.revision {
				inForce = definition.value
			}
		}
		if inForce != "" && inForce != object.value {
			t.Errorf("the definition allows %s, and revision %d stores %s", inForce, object.revision, object.value)
		}
	}
	t.Logf("%d states of the definition, %d writes stored, %d refused", len(allowed), len(stored), refused)
}
