package apiserver_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// deleteFenced deletes a Secret by a request with the context of Unreferenced.
func deleteFenced(ctx context.Context, server *servertest.Server, name string) error {
	req := httptest.NewRequestWithContext(ctx, http.MethodDelete, "/api/v1/namespaces/default/secrets/"+name, nil)
	if answer := server.Serve(req); answer.Code != http.StatusOK {
		return fmt.Errorf("%d: %s", answer.Code, answer.Body)
	}
	return nil
}

// A reference that is stored between the read of the references and the delete stops the delete, and other writes do not.
func TestReferencesFence(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client, index := server.Cluster(t), server.References()
	other := servertest.CreateNamespace(t, client, "other-")
	applyObject(t, client.Dynamic.Resource(crdResource), boats(t, "{}", "Namespaced"))
	boat := func(name, text string) *unstructured.Unstructured {
		return yamltest.Object(t, fmt.Sprintf("{apiVersion: sea.example.com/v1, kind: Boat, metadata: {name: %s}, spec: {any: %s}}", name, text))
	}
	pod := func(name, secret string) *corev1.Pod {
		return yamltest.Decode[corev1.Pod](t, fmt.Sprintf(
			`{metadata: {name: %s}, spec: {containers: [{name: c, image: i, envFrom: [{secretRef: {name: %s}}]}]}}`, name, secret))
	}
	applyObject(t, client.Dynamic.Resource(boatResource).Namespace("default"), boat("first", "nothing"))
	awaitJudged(t, client, "boats.sea.example.com")
	servertest.AwaitAccount(t, client, "default")
	for name, test := range map[string]struct {
		write   func(secret string)
		deleted bool
	}{
		"nothing":         {func(string) {}, true},
		"a pod":           {func(s string) { applyPod(t, client, "default", pod("p-"+s, s)) }, false},
		"another pod":     {func(s string) { applyPod(t, client, "default", pod("p-"+s, "other")) }, true},
		"a pod elsewhere": {func(s string) { applyPod(t, client, other, pod("p-"+s, s)) }, true},
		"a custom resource": {func(s string) {
			applyObject(t, client.Dynamic.Resource(boatResource).Namespace("default"), boat("b-"+s, s))
		}, false},
		"another custom resource": {func(s string) {
			applyObject(t, client.Dynamic.Resource(boatResource).Namespace("default"), boat("b-"+s, "other"))
		}, true},
		"a node": {func(s string) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n-" + s}}
			if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		}, true},
		"a definition": {func(s string) {
			applyObject(t, client.Dynamic.Resource(crdResource), boats(t, "{changed: "+s+"}", "Namespaced"))
		}, false},
	} {
		secret := "s-" + fmt.Sprint(len(name)) + "-" + fmt.Sprint(rand.Uint32())
		newSecret(t, client, "default", secret)
		fenced, ok, err := index.Unreferenced(t.Context(), references.Secret, "default", secret)
		if err != nil || !ok {
			t.Fatalf("%s: %t, %v", name, ok, err)
		}
		test.write(secret)
		err = deleteFenced(fenced, server, secret)
		if deleted := err == nil; deleted != test.deleted {
			t.Errorf("%s: deleted %t, want %t: %v", name, deleted, test.deleted, err)
		}
	}
}

func applyPod(t *testing.T, client servertest.Cluster, namespace string, pod *corev1.Pod) {
	t.Helper()
	if _, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// While clients create pods and custom resources with references at random times, a Secret is never deleted after a reference to it was stored.
func TestReferencesRace(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client, index := server.Cluster(t), server.References()
	const secrets, writers = 40, 4
	for i := range secrets {
		newSecret(t, client, "default", fmt.Sprint("race-", i))
	}
	pod := func(name string, i int) *corev1.Pod {
		return yamltest.Decode[corev1.Pod](t, fmt.Sprintf(
			`{metadata: {name: %s}, spec: {containers: [{name: c, image: i, envFrom: [{secretRef: {name: race-%d}}]}]}}`, name, i))
	}
	// However slow the machine is: the last Secret stays, because a pod uses it already, and the first goes before any writer begins.
	servertest.AwaitAccount(t, client, "default")
	applyPod(t, client, "default", pod("first", secrets-1))
	watcher, err := client.CoreV1().Secrets("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	begun := make(chan struct{})
	var running sync.WaitGroup
	stored := make([][]int64, secrets) // the revisions of the references
	var mu sync.Mutex
	for w := range writers {
		running.Go(func() {
			<-begun
			random := rand.New(rand.NewPCG(uint64(w), 38))
			for n := range 60 {
				i := random.IntN(secrets)
				created, err := client.CoreV1().Pods("default").Create(t.Context(), pod(fmt.Sprintf("race-%d-%d", w, n), i), metav1.CreateOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				var revision int64
				_, _ = fmt.Sscan(created.ResourceVersion, &revision)
				mu.Lock()
				stored[i] = append(stored[i], revision)
				mu.Unlock()
			}
		})
	}
	deleted := 0
	running.Go(func() {
		begin := sync.OnceFunc(func() { close(begun) })
		defer begin()
		for i := range secrets {
			fenced, ok, err := index.Unreferenced(t.Context(), references.Secret, "default", fmt.Sprint("race-", i))
			if err != nil {
				t.Error(err)
				return
			}
			if ok && deleteFenced(fenced, server, fmt.Sprint("race-", i)) == nil {
				deleted++
			}
			begin()
		}
	})
	running.Wait()
	for found := 0; found < deleted; {
		event := waittest.Receive(t, "all deletions", watcher.ResultChan())
		if event.Type != watch.Deleted {
			continue
		}
		found++
		secret := event.Object.(*corev1.Secret)
		var i int
		var at int64
		_, err := fmt.Sscanf(secret.Name+" "+secret.ResourceVersion, "race-%d %d", &i, &at)
		if err != nil {
			t.Fatal(err)
		}
		// The order in etcd is what counts.
		for _, revision := range stored[i] {
			if revision < at {
				t.Errorf("race-%d was deleted at %d, and a reference was stored at %d", i, at, revision)
			}
		}
	}
	if deleted == 0 || deleted == secrets {
		t.Errorf("%d of %d Secrets were deleted, so the test has not shown anything", deleted, secrets)
	}
}

// The references of encrypted custom resources are known, also after a restart. A definition that is being deleted makes the index
// incomplete where it has objects.
func TestReferencesRestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(file, []byte(`
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: ["*.*"]
  providers: [{secretbox: {keys: [{name: one, secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}]}}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	config := apiserver.Config{DataDir: t.TempDir(), EncryptionConfig: file}
	first := servertest.Start(t, config)
	client := first.Cluster(t)
	newSecret(t, client, "default", "hull")
	newSecret(t, client, "kube-system", "hull")
	applyObject(t, client.Dynamic.Resource(crdResource), boats(t, "{}", "Namespaced"))
	applyObject(t, client.Dynamic.Resource(boatResource).Namespace("default"), yamltest.Object(t,
		"{apiVersion: sea.example.com/v1, kind: Boat, metadata: {name: one, finalizers: [example.com/wait]}, spec: {any: hull}}"))
	awaitUse(t, first.References(), "default/hull", true)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := servertest.Start(t, config)
	awaitUse(t, second.References(), "default/hull", true)
	awaitUse(t, second.References(), "kube-system/hull", false)
	client = second.Cluster(t)
	if err := client.Dynamic.Resource(crdResource).Delete(t.Context(), "boats.sea.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	const want = "the definition of boats.sea.example.com is not served, and there are objects of it"
	waittest.Until(t, "the index is incomplete", func() bool { return second.References().Incomplete("default") == want })
	if got := second.References().Incomplete("kube-system"); got != "" {
		t.Errorf("another namespace: %s", got)
	}
	metrics, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"holdfast_references ", `holdfast_references_incomplete{reason="not_served"} 1`, `holdfast_references_incomplete{reason="not_read"} 0`} {
		if !strings.Contains(string(metrics), "\n"+line) {
			t.Errorf("the metrics have no line %s", line)
		}
	}
	waittest.Until(t, "the finalizer is removed", func() error {
		boat, err := client.Dynamic.Resource(boatResource).Namespace("default").Get(t.Context(), "one", metav1.GetOptions{})
		if err != nil {
			return err
		}
		boat.SetFinalizers(nil)
		_, err = client.Dynamic.Resource(boatResource).Namespace("default").Update(t.Context(), boat, metav1.UpdateOptions{})
		return err
	})
	awaitUse(t, second.References(), "default/hull", false)
}

// A stored object that cannot be read makes the index incomplete, and no exact read succeeds, until it is gone.
func TestReferencesUnreadable(t *testing.T) {
	t.Parallel()
	address := servertest.StartEtcd(t, transport.TLSInfo{})
	server := servertest.Start(t, apiserver.Config{Etcd: etcd.Cluster{Servers: []string{address}}})
	client, index := server.Cluster(t), server.References()
	newSecret(t, client, "default", "hull")
	applyObject(t, client.Dynamic.Resource(crdResource), boats(t, "{}", "Namespaced"))
	awaitUse(t, index, "default/hull", false)
	store, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	const key = "/registry/sea.example.com/boats/default/broken"
	newSecret(t, client, "default", "sail")
	sails := func(name string) {
		applyObject(t, client.Dynamic.Resource(boatResource).Namespace("default"), yamltest.Object(t,
			"{apiVersion: sea.example.com/v1, kind: Boat, metadata: {name: "+name+"}, spec: {any: sail}}"))
	}
	sails("whole")
	for _, value := range []string{"k8s:enc:secretbox:v1:other:text", "k8s\x00 protobuf"} {
		sails("broken")
		waittest.Until(t, "two boats refer to it", func() bool { return len(used(t, server.Config(t), "default/secrets/sail").Referrers) == 2 })
		if _, err := store.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
		const want = "the objects of boats.sea.example.com cannot be read"
		waittest.Until(t, "the index is incomplete", func() bool { return index.Incomplete("default") == want })
		if _, ok, err := index.Unreferenced(t.Context(), references.Secret, "default", "hull"); ok || err == nil {
			t.Errorf("%q: an exact read of a store with an unreadable object: %t, %v", value, ok, err)
		}
		// An answer names the object, and has the others.
		answer := used(t, server.Config(t), "default/secrets/sail")
		if want := "boats.sea.example.com default/broken cannot be read: "; !strings.HasPrefix(answer.Incomplete, want) || len(answer.Referrers) != 1 {
			t.Errorf("%q: the answer is %+v, want incomplete: %s", value, answer, want)
		}
		if _, err := store.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		awaitUse(t, index, "default/hull", false)
	}
}
