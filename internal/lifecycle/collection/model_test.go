package collection_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/series"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// The kinds of the model: those that are collected, and those that refer to them.
var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	replicaSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	boats       = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "boats"}
	ships       = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "ships"}
)

// podSpec is the spec of a pod that refers to a ConfigMap and a Secret with the same name.
const podSpec = `{containers: [{name: a, image: a, envFrom: [{configMapRef: {name: NAME}}]}], volumes: [{name: v, projected: {sources: [{secret: {name: NAME}}]}}]}`

// forms are the objects that refer to NAME, by resource.
var forms = map[schema.GroupVersionResource]string{
	pods:        `{apiVersion: v1, kind: Pod, metadata: {name: OWN}, spec: ` + podSpec + `}`,
	deployments: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: OWN}, spec: {replicas: COUNT, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: ` + podSpec + `}}}`,
	replicaSets: `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: OWN}, spec: {replicas: COUNT, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: ` + podSpec + `}}}`,
	boats:       `{apiVersion: example.com/v1, kind: Boat, metadata: {name: OWN}, spec: {config: NAME, secret: NAME}}`,
	ships:       `{apiVersion: example.com/v1, kind: Ship, metadata: {name: OWN}, spec: {any: [{deep: NAME}]}}`,
}

// rules declares the references of boats. Ships declare none.
const rules = "ConfigMap spec.config\nSecret spec.secret"

// model is a namespace with versions of configuration, and workloads that refer to them.
type model struct {
	t  *testing.T
	mu sync.Mutex
	// servers share a store. The second one is a process that the test kills and starts again.
	servers [2]cluster
	created []string
}

// server returns the clients of a server.
func (m *model) server(i int) cluster {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.servers[i]
}

// setServer sets the clients of a server.
func (m *model) setServer(i int, c cluster) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.Namespace = "model"
	m.servers[i] = c
}

// define creates a definition.
func (m *model) define(kind, annotation string) {
	m.t.Helper()
	plural := strings.ToLower(kind) + "s"
	object := yamltest.Object(m.t, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s.example.com, annotations: {}}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: %s, plural: %s}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]`, plural, kind, plural))
	if annotation != "" {
		object.SetAnnotations(map[string]string{"holdfast.dev/references": annotation})
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err := m.server(0).Dynamic.Resource(definitions).Create(m.t.Context(), object, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
	for _, server := range []cluster{m.server(0), m.server(1)} {
		waittest.Until(m.t, plural+" are served", func() error {
			_, err := server.Dynamic.Resource(boats.GroupVersion().WithResource(plural)).List(m.t.Context(), metav1.ListOptions{})
			return err
		})
	}
}

// TestSoakModel lets clients of two servers publish, use, roll, roll back, scale and delete at random, and watches all objects. Meanwhile it kills one of
// the servers, at first the leader, and starts it again. No ConfigMap or Secret is deleted while a stored object has its name, and in the end all are
// deleted that no object has the name of, except the newest of each series. HOLDFAST_SOAK sets the duration; without it, the test stops after a round.
func TestSoakModel(t *testing.T) {
	t.Parallel()
	limit, err := time.ParseDuration(cmp.Or(os.Getenv("HOLDFAST_SOAK"), "0s"))
	if err != nil {
		t.Fatal(err)
	}
	const steps, workers = 40, 4
	store := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	m := &model{t: t}
	killed := apiserver.Config{DataDir: t.TempDir(), CollectAtLeast: least, Etcd: store}
	killed.Kubeconfig = killed.DataDir + ".kubeconfig"
	start := func() *servertest.Process {
		process := servertest.StartProcess(t, killed)
		m.setServer(1, cluster{t, servertest.NewCluster(servertest.Config(t, killed.Kubeconfig))})
		return process
	}
	process := start()
	waittest.Until(t, "the first server leads", func() error {
		_, err := m.server(1).CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), servertest.ControllersLease, metav1.GetOptions{})
		return err
	})
	m.setServer(0, cluster{t, servertest.Start(t, apiserver.Config{CollectAtLeast: least, Etcd: store}).Cluster(t)})
	m.define("Boat", rules)
	m.define("Ship", "")
	m.server(0).in("model", selected(), map[string]string{series.AfterAnnotation: "0s", series.KeepLastAnnotation: "1"})
	seen := observe(t, m.server(0))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	all := make([]*worker, workers)
	for id := range all {
		all[id] = &worker{model: m, id: id, rng: rand.New(rand.NewPCG(seed, uint64(id))), workloads: map[string]schema.GroupVersionResource{}}
	}
	kills := 0
	for begin := time.Now(); kills == 0 || time.Since(begin) < limit; kills++ {
		if kills > 0 {
			servertest.SetLeader(t, m.server(0), "other", time.Second) // one of the servers becomes the leader
		}
		var running sync.WaitGroup
		half := make(chan struct{})
		for _, w := range all {
			running.Go(func() {
				w.run(t.Context(), steps, func() {
					if w.id == 0 {
						close(half)
					}
				})
			})
		}
		waittest.Receive(t, "half of the steps", half)
		process.Kill()
		process = start()
		running.Wait()
		seen.awaitNone(t)
	}
	deleted, wrong := seen.check()
	for _, message := range wrong {
		t.Error(message)
	}
	t.Logf("%d objects published, %d deleted, %d kills", 2*len(m.created), deleted, kills)
	if deleted == 0 {
		t.Error("nothing was deleted")
	}
}

// awaitNone waits until no object is left that must be deleted.
func (h *history) awaitNone(t *testing.T) {
	t.Helper()
	for left := h.unused(); len(left) > 0; {
		before := len(left)
		waittest.Until(t, "one of the unused objects is gone", func() error {
			if left = h.unused(); len(left) >= before {
				return fmt.Errorf("left: %v", slices.Sorted(maps.Keys(left)))
			}
			return nil
		})
	}
}

// TestOracle checks that the check of the model fails on a wrong deletion, and on an object that stays.
func TestOracle(t *testing.T) {
	t.Parallel()
	const wrong = "configmaps/s-1 was deleted at revision 7, and pods/web of revision 5 referred to it"
	object := func(name, revision, more string) *unstructured.Unstructured {
		return yamltest.Object(t, fmt.Sprintf("{metadata: {name: %s, resourceVersion: %q, labels: {%s: s}}%s}", name, revision, series.Label, more))
	}
	for name, test := range map[string]struct {
		// released is the revision at which the last pod that refers to the ConfigMap is deleted, zero for none.
		released, deleted string
		wrong, left       string
	}{
		"a pod refers to it":                   {deleted: "7", wrong: "[" + wrong + "]", left: "[]"},
		"a pod has referred to it":             {released: "6", deleted: "7", wrong: "[]", left: "[]"},
		"a pod refers to it until afterwards":  {released: "8", deleted: "7", wrong: "[" + wrong + "]", left: "[]"},
		"a pod refers to it, and it stays":     {wrong: "[]", left: "[]"},
		"a pod has referred to it, it remains": {released: "6", wrong: "[]", left: "[configmaps/s-1]"},
	} {
		h := &history{versions: map[string][]version{}}
		h.add("configmaps", object("s-1", "1", ""), false)
		h.add("configmaps", object("s-2", "2", ""), false)
		h.add("pods", object("web", "3", ", spec: {any: other}"), false)
		h.add("pods", object("web", "5", ", spec: {deep: [{any: s-1}]}"), false)
		if test.released != "" {
			h.add("pods", object("web", test.released, ", spec: {deep: [{any: s-1}]}"), true)
		}
		if test.deleted != "" {
			h.add("configmaps", object("s-1", test.deleted, ""), true)
		}
		_, found := h.check()
		left := fmt.Sprint(slices.Sorted(maps.Keys(h.unused())))
		if got := fmt.Sprint(found); got != test.wrong || left != test.left {
			t.Errorf("%s: wrong %s, want %s; left %s, want %s", name, got, test.wrong, left, test.left)
		}
	}
}
