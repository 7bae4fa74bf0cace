//go:build !plain

package apiserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/connection/inprocess"
	"holdfast.dev/holdfast/internal/waittest"
)

// comparedKind is a kind whose objects TestInformersEqualPlain changes. The objects have only this content and metadata.
type comparedKind struct {
	schema.GroupVersionResource
	kind, namespace string
	content         string
	informer        func(informers.SharedInformerFactory) cache.SharedIndexInformer
}

// comparedKinds are not those of TestInformersSendNoWatches, because all servers of the process share the metrics of watches.
func comparedKinds() []comparedKind {
	core := schema.GroupVersion{Version: "v1"}
	return []comparedKind{
		{
			core.WithResource("configmaps"), "ConfigMap", "default", `{"data": {"a": "b"}, "binaryData": {"c": "AAE="}}`,
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Core().V1().ConfigMaps().Informer()
			},
		},
		{
			core.WithResource("secrets"), "Secret", "default", `{"stringData": {"a": "b"}}`,
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Core().V1().Secrets().Informer()
			},
		},
		{
			core.WithResource("services"), "Service", "default", `{"spec": {"ports": [{"port": 80}]}}`,
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Core().V1().Services().Informer()
			},
		},
		{
			core.WithResource("podtemplates"), "PodTemplate", "default",
			`{"template": {"spec": {"containers": [{"name": "a", "image": "b", "resources": {"limits": {"memory": "1Gi"}}}]}}}`,
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Core().V1().PodTemplates().Informer()
			},
		},
		{
			networkingv1.SchemeGroupVersion.WithResource("networkpolicies"), "NetworkPolicy", "default", `{"spec": {"podSelector": {}}}`,
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Networking().V1().NetworkPolicies().Informer()
			},
		},
		{
			rbacv1.SchemeGroupVersion.WithResource("clusterroles"), "ClusterRole", "",
			`{"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}`,
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Rbac().V1().ClusterRoles().Informer()
			},
		},
		{
			schedulingv1.SchemeGroupVersion.WithResource("priorityclasses"), "PriorityClass", "", `{"value": 7}`,
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Scheduling().V1().PriorityClasses().Informer()
			},
		},
		{
			storagev1.SchemeGroupVersion.WithResource("storageclasses"), "StorageClass", "", `{"provisioner": "example.com/disk"}`,
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Storage().V1().StorageClasses().Informer()
			},
		},
	}
}

// TestInformersEqualPlain changes objects at random while informers run that read in the process, and informers of the library that read
// through the API. Both must hold the same objects in the end.
func TestInformersEqualPlain(t *testing.T) {
	t.Parallel()
	started := servertest.Start(t, apiserver.Config{})
	server, err := connection.Open(started.Config(t), connection.Options{ReplacementsAsChanges: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	used := &usedSource{source: started.Source(), reads: map[schema.GroupVersionResource]int{}}
	inProcess, plain := inprocess.NewFactory(server, used.objects), informers.NewSharedInformerFactory(server.Typed, 0)
	var replaced [2]atomic.Int32
	for _, kind := range comparedKinds() {
		for i, informer := range []cache.SharedIndexInformer{kind.informer(inProcess), kind.informer(plain)} {
			_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
				if uidOf(before) != uidOf(after) {
					replaced[i].Add(1)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	changes := newChanges(t, server)
	changes.make(t, 100) // the informers list what these leave
	inProcess.StartWithContext(t.Context())
	plain.StartWithContext(t.Context())
	changes.make(t, 100) // the informers may list or watch these
	inProcess.WaitForCacheSyncWithContext(t.Context())
	plain.WaitForCacheSyncWithContext(t.Context())
	changes.make(t, 200) // the informers watch these
	for _, kind := range comparedKinds() {
		one, other := kind.informer(inProcess).GetStore(), kind.informer(plain).GetStore()
		// The controllers may write a moment longer than the test.
		waittest.Until(t, "both informers have the last changes of "+kind.Resource+", and the same objects", func() error {
			if !changes.seen(t, kind, one) || !changes.seen(t, kind, other) {
				return errors.New("a change is missing")
			}
			if diff := cmp.Diff(held(other), held(one)); diff != "" {
				return fmt.Errorf("the informer in the process differs (-plain +in process):\n%s", diff)
			}
			return nil
		})
		if used.count(kind.GroupVersionResource) == 0 {
			t.Errorf("%s: the informer did not read in the process", kind.Resource)
		}
	}
	// Deletions in between would not count.
	for i, name := range []string{"in the process", "plain"} {
		if n := replaced[i].Load(); n < 10 {
			t.Errorf("%s: %d replacements were changes of an object", name, n)
		}
	}
}

func uidOf(obj any) types.UID {
	if object, ok := obj.(metav1.Object); ok {
		return object.GetUID()
	}
	return ""
}

// usedSource counts how often informers read from a source.
type usedSource struct {
	source inprocess.Source
	mu     sync.Mutex
	reads  map[schema.GroupVersionResource]int
}

func (u *usedSource) objects(resource schema.GroupVersionResource) cache.ListerWatcherWithContext {
	objects := u.source(resource)
	if objects != nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.reads[resource]++
	}
	return objects
}

func (u *usedSource) count(resource schema.GroupVersionResource) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.reads[resource]
}

// changes makes random changes of objects.
type changes struct {
	client dynamic.Interface
	rest   rest.Interface
	random *rand.Rand
	exist  map[string]bool
}

func newChanges(t *testing.T, server *connection.Connection) changes {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return changes{client: server.Dynamic, rest: server.Typed.CoreV1().RESTClient(), random: rand.New(rand.NewPCG(seed, 0)), exist: map[string]bool{}}
}

// make makes a number of changes, one after the other.
func (c changes) make(t *testing.T, number int) {
	t.Helper()
	kinds := comparedKinds()
	for range number {
		kind, name := kinds[c.random.IntN(len(kinds))], fmt.Sprintf("object-%d", c.random.IntN(4))
		if err := c.change(t, kind, name); err != nil {
			t.Fatalf("%s %s: %v", kind.Resource, name, err)
		}
	}
}

// change creates an object, or updates, replaces or deletes it if it exists.
func (c changes) change(t *testing.T, kind comparedKind, name string) error {
	t.Helper()
	key, what := kind.Resource+"/"+name, c.random.IntN(9)
	objects := c.client.Resource(kind.GroupVersionResource).Namespace(kind.namespace)
	var err error
	switch {
	case !c.exist[key]:
		obj := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(kind.content), &obj.Object); err != nil {
			return err
		}
		obj.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.kind))
		obj.SetName(name)
		c.exist[key] = true
		_, err = objects.Create(t.Context(), obj, metav1.CreateOptions{})
	case what < 3:
		c.exist[key] = false
		err = objects.Delete(t.Context(), name, metav1.DeleteOptions{})
	case what < 5:
		err = c.replace(t, kind, name)
	default:
		patch := fmt.Appendf(nil, `{"metadata": {"labels": {"random": "%d"}}}`, c.random.IntN(1000))
		_, err = objects.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return err
}

// replace replaces an object by one with the same content.
func (c changes) replace(t *testing.T, kind comparedKind, name string) error {
	t.Helper()
	stored, err := c.client.Resource(kind.GroupVersionResource).Namespace(kind.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	body, err := json.Marshal(stored.Object)
	if err != nil {
		return err
	}
	put := c.rest.Put().AbsPath("/apis", kind.Group, kind.Version)
	if kind.Group == "" {
		put = c.rest.Put().AbsPath("/api", kind.Version)
	}
	return put.NamespaceIfScoped(kind.namespace, kind.namespace != "").Resource(kind.Resource).Name(name).
		Param("holdfast", "replace").SetHeader("Content-Type", "application/json").Body(body).Do(t.Context()).Error()
}

// seen reports whether an informer holds the objects of a kind in their current versions.
func (c changes) seen(t *testing.T, kind comparedKind, store cache.Store) bool {
	t.Helper()
	list, err := c.client.Resource(kind.GroupVersionResource).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for _, item := range list.Items {
		want[item.GetNamespace()+"/"+item.GetName()] = item.GetResourceVersion()
	}
	for _, obj := range store.List() {
		if item, ok := obj.(metav1.Object); ok {
			got[item.GetNamespace()+"/"+item.GetName()] = item.GetResourceVersion()
		}
	}
	return cmp.Equal(want, got)
}

// held returns the objects of an informer by key.
func held(store cache.Store) map[string]any {
	objects := map[string]any{}
	for _, key := range store.ListKeys() {
		objects[key], _, _ = store.GetByKey(key)
	}
	return objects
}
