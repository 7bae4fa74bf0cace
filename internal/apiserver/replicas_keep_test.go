package apiserver_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const (
	thing     = `{apiVersion: replicas.example.com/v1, kind: Thing, metadata: {generateName: thing-}, spec: {a: x}}`
	thingName = "things.replicas.example.com"
)

// startReplicas starts two servers on one etcd.
func startReplicas(t *testing.T) (one, two *servertest.Server) {
	t.Helper()
	cluster := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	return servertest.Start(t, apiserver.Config{DataDir: t.TempDir(), Etcd: cluster}),
		servertest.Start(t, apiserver.Config{DataDir: t.TempDir(), Etcd: cluster})
}

// defineThings creates a definition with annotations, as soon as the name is free.
func defineThings(t *testing.T, annotations map[string]string, clients ...dynamic.Interface) {
	t.Helper()
	crd := yamltest.Object(t, thingDefinition)
	crd.SetAnnotations(annotations)
	waittest.Until(t, "the definition is created", func() error {
		_, err := clients[0].Resource(crdResource).Create(t.Context(), crd, metav1.CreateOptions{})
		return err
	})
	for _, client := range clients {
		establishedOn(t, client)
	}
}

// createOnce creates an object, and does not try again.
func createOnce(t *testing.T, config *rest.Config) error {
	t.Helper()
	client := servertest.NewCluster(config)
	return client.Discovery().RESTClient().Post().AbsPath("/apis/replicas.example.com/v1/namespaces/default/things").MaxRetries(0).
		SetHeader("Content-Type", "application/json").Body(yamltest.JSON(t, thing)).Do(t.Context()).Error()
}

// While a server decides about the deletion of a definition, no server creates objects of it.
func TestReplicasCloseKind(t *testing.T) {
	t.Parallel()
	one, two := startReplicas(t)
	deleter, creator := one.Cluster(t).Dynamic, two.Cluster(t).Dynamic
	defineThings(t, nil, deleter, creator)
	// The server asks before it closes the kind, and again when it is closed.
	asked, decide := make(chan struct{}), make(chan struct{})
	var times atomic.Int64
	one.Keep().SetRules(noDelete{resource: "things", guards: func() {
		if times.Add(1) == 2 {
			close(asked)
			<-decide
		}
	}})
	deleted := make(chan error, 1)
	go func() {
		deleted <- deleter.Resource(crdResource).Delete(t.Context(), thingName, metav1.DeleteOptions{})
	}()
	waittest.Receive(t, "the server decides", asked)
	for name, server := range map[string]*servertest.Server{"one": one, "two": two} {
		err := createOnce(t, server.Config(t))
		if seconds, again := apierrors.SuggestsClientDelay(err); !apierrors.IsServiceUnavailable(err) || !again || seconds != 1 {
			t.Errorf("a create on server %s while the kind is closed: %v, want 503 with Retry-After", name, err)
		}
	}
	close(decide)
	if err := waittest.Receive(t, "the answer to the deletion", deleted); err != nil {
		t.Fatal(err)
	}
	// The other server learns of the deletion a moment later, and the kind is closed on it until then.
	waittest.Until(t, "the other server no longer serves the kind", func() error {
		err := createOnce(t, two.Config(t))
		switch {
		case err == nil:
			t.Fatal("a create after the deletion succeeds")
		case apierrors.IsMethodNotSupported(err), apierrors.IsNotFound(err):
			return nil
		}
		return err
	})
}

// The deletion of a definition on one server, and the creation of an object of it on another, do not both succeed: neither if the
// definition is kept while it has objects, nor if a rule keeps the objects.
func TestReplicasDeleteAndCreate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ key, value, refused string }{
		"while-objects": {"holdfast.dev/keep", "while-objects", "keeps it while it holds objects, and it holds 1 object"},
		"no-delete":     {"holdfast.dev/immutability", "no-delete while oldSelf.spec.a == 'x'", "it holds 1 object that must be kept: " + thingName + "/thing-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raceDeleteAndCreate(t, map[string]string{test.key: test.value}, test.refused)
		})
	}
}

// raceDeleteAndCreate deletes a definition with annotations on one server while another creates an object. refused is a part of the answer
// if the object was first.
func raceDeleteAndCreate(t *testing.T, annotations map[string]string, refused string) {
	t.Helper()
	one, two := startReplicas(t)
	deleter, creator := one.Cluster(t).Dynamic, two.Cluster(t).Dynamic
	outcomes := map[string]int{}
	for range 30 {
		defineThings(t, annotations, deleter, creator)
		things := creator.Resource(thingResource).Namespace("default")
		// The first write opens the resource, so that the next ones are as quick as the deletion.
		if _, err := things.Create(t.Context(), yamltest.Object(t, thing), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Fatal(err)
		}
		var deleteErr, createErr error
		var running sync.WaitGroup
		running.Go(func() {
			deleteErr = deleter.Resource(crdResource).Delete(t.Context(), thingName, metav1.DeleteOptions{})
		})
		running.Go(func() {
			_, createErr = things.Create(t.Context(), yamltest.Object(t, thing), metav1.CreateOptions{})
		})
		running.Wait()
		switch {
		case deleteErr == nil && createErr == nil:
			t.Fatal("the definition was deleted, and the object was created")
		case deleteErr != nil && createErr != nil:
			t.Fatalf("neither succeeded: %v, %v", deleteErr, createErr)
		case deleteErr == nil:
			outcomes["deleted"]++
		default:
			wantKept(t, deleteErr, refused)
			outcomes["created"]++
			release(t, things)
			if err := things.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := deleter.Resource(crdResource).Delete(t.Context(), thingName, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, client := range []dynamic.Interface{deleter, creator} {
			waittest.Until(t, "the definition is gone", func() bool {
				_, err := client.Resource(crdResource).Get(t.Context(), thingName, metav1.GetOptions{})
				return apierrors.IsNotFound(err)
			})
		}
	}
	t.Log(outcomes)
}

// release changes the objects, so that the rule of the test no longer keeps them.
func release(t *testing.T, things dynamic.ResourceInterface) {
	t.Helper()
	list, err := things.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d objects, %v", len(list.Items), err)
	}
	_, err = things.Patch(t.Context(), list.Items[0].GetName(), types.MergePatchType, []byte(`{"spec": {"a": "y"}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// A kept object that one server creates while another deletes its namespace stays: the deletion is refused, or the condition of the
// namespace names the object.
func TestReplicasDeleteNamespaceAndCreate(t *testing.T) {
	t.Parallel()
	one, two := startReplicas(t)
	deleter, creator := one.Client(t).CoreV1(), two.Client(t).CoreV1()
	outcomes := map[string]int{}
	for i := range 20 {
		name := fmt.Sprint("race-", i)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := deleter.Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Annotations: map[string]string{"holdfast.dev/keep": "always"}}}
		dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		waittest.Until(t, "the other server has the namespace", func() error {
			_, err := creator.ConfigMaps(name).Create(t.Context(), kept, dryRun)
			return err
		})
		var deleteErr, createErr error
		var running sync.WaitGroup
		running.Go(func() { deleteErr = deleter.Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}) })
		running.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond) // a deletion reads the objects first, so the create would always win
			_, createErr = creator.ConfigMaps(name).Create(t.Context(), kept, metav1.CreateOptions{})
		})
		running.Wait()
		switch {
		case createErr != nil && deleteErr != nil:
			t.Fatalf("neither succeeded: %v, %v", deleteErr, createErr)
		case createErr != nil:
			outcomes["deleted"]++
			continue
		case deleteErr != nil:
			wantKept(t, deleteErr, "it holds 1 object that must be kept: configmaps/kept")
			outcomes["created"]++
		default:
			outcomes["both"]++
			waittest.Until(t, "the condition of the namespace names the object", func() bool {
				found, err := deleter.Namespaces().Get(t.Context(), name, metav1.GetOptions{})
				return err == nil && slices.ContainsFunc(found.Status.Conditions, func(c corev1.NamespaceCondition) bool {
					return c.Type == corev1.NamespaceDeletionContentFailure && strings.Contains(c.Message, "kept")
				})
			})
		}
		if found, err := creator.ConfigMaps(name).Get(t.Context(), "kept", metav1.GetOptions{}); err != nil || found.DeletionTimestamp != nil {
			t.Fatalf("the kept object: %v", err)
		}
	}
	t.Log(outcomes)
}

// A create succeeds while the definition of its kind changes, although the server learns of each change a moment later. If the
// server gives up on a busy machine, its answer is 503, and the client tries again by itself.
func TestReplicasCreateWhileDefinitionChanges(t *testing.T) {
	t.Parallel()
	one, two := startReplicas(t)
	definer, creator := one.Cluster(t).Dynamic, two.Cluster(t).Dynamic
	defineThings(t, nil, definer, creator)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			patch := fmt.Appendf(nil, `{"metadata": {"labels": {"change": "%d"}}}`, i)
			_, err := definer.Resource(crdResource).Patch(ctx, thingName, types.MergePatchType, patch, metav1.PatchOptions{})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	for range 50 {
		object := yamltest.Object(t, thing)
		if _, err := creator.Resource(thingResource).Namespace("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	}
	cancel()
	running.Wait()
	list, err := creator.Resource(thingResource).Namespace("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 50 {
		t.Errorf("%d objects, %v", len(list.Items), err)
	}
}
