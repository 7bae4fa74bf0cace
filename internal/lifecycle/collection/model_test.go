package collection_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

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

// worker does random work on one of the servers.
type worker struct {
	*model
	id  int
	rng *rand.Rand
	// workloads are the names of its workloads.
	workloads map[string]schema.GroupVersionResource
	next      int
}

// in returns the client for a resource, at one of the servers.
func (w *worker) in(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return w.server(w.id % 2).Dynamic.Resource(resource).Namespace("model")
}

// run does some steps, and calls a function at half of them.
func (w *worker) run(ctx context.Context, steps int, half func()) {
	for i := range steps {
		if i == steps/2 {
			half()
		}
		err := w.step(ctx)
		if err != nil && !isExpected(err) {
			w.t.Errorf("worker %d: %v", w.id, err)
			return
		}
		time.Sleep(time.Duration(w.rng.IntN(40)) * time.Millisecond)
	}
}

// isExpected reports whether a client expects an error: another client was first, the server was killed, or etcd did not confirm a write in time, as
// on a busy machine. The write may be stored then.
func isExpected(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true // the server was killed
	}
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// step does one thing. It fails on an error that a client would not expect.
func (w *worker) step(ctx context.Context) error {
	switch n := w.rng.IntN(10); {
	case n < 3:
		return w.publish(ctx)
	case n < 6:
		return w.start(ctx)
	case n < 9:
		return w.change(ctx)
	default:
		return w.stop(ctx)
	}
}

// publish creates a version of configuration: a ConfigMap and a Secret with the same name.
func (w *worker) publish(ctx context.Context) error {
	w.next++
	of := fmt.Sprintf("s%d", w.rng.IntN(3))
	name := fmt.Sprintf("%s-%d-%d", of, w.id, w.next)
	for kind, resource := range map[string]schema.GroupVersionResource{"ConfigMap": configMaps, "Secret": secrets} {
		object := yamltest.Object(w.t, fmt.Sprintf("{apiVersion: v1, kind: %s, immutable: true, metadata: {name: %s, labels: {%s: %s}}}", kind, name, series.Label, of))
		if _, err := w.in(resource).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.created = append(w.created, name)
	return nil
}

// version returns a version that was published, often an old one, which may be gone.
func (w *worker) version() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.created) == 0 {
		return "none"
	}
	if w.rng.IntN(2) == 0 {
		return w.created[len(w.created)-1-w.rng.IntN(min(5, len(w.created)))]
	}
	return w.created[w.rng.IntN(len(w.created))]
}

func (w *worker) object(resource schema.GroupVersionResource, own string) *unstructured.Unstructured {
	text := strings.NewReplacer("OWN", own, "NAME", w.version(), "COUNT", strconv.Itoa(w.rng.IntN(3))).Replace(forms[resource])
	return yamltest.Object(w.t, text)
}

// start creates a workload.
func (w *worker) start(ctx context.Context) error {
	w.next++
	own := fmt.Sprintf("w-%d-%d", w.id, w.next)
	all := []schema.GroupVersionResource{pods, deployments, replicaSets, boats, ships}
	resource := all[w.rng.IntN(len(all))]
	_, err := w.in(resource).Create(ctx, w.object(resource, own), metav1.CreateOptions{})
	if err == nil {
		w.workloads[own] = resource
	}
	return err
}

// pick returns a workload, empty if there is none.
func (w *worker) pick() string {
	names := slices.Sorted(maps.Keys(w.workloads))
	if len(names) == 0 {
		return ""
	}
	return names[w.rng.IntN(len(names))]
}

// change rolls a workload to another version, forward or back, and scales it, maybe to zero. A pod cannot change.
func (w *worker) change(ctx context.Context) error {
	own := w.pick()
	if own == "" || w.workloads[own] == pods {
		return nil
	}
	resource := w.workloads[own]
	in := w.in(resource)
	current, err := in.Get(ctx, own, metav1.GetOptions{})
	if err != nil {
		return err
	}
	changed := w.object(resource, own)
	changed.SetResourceVersion(current.GetResourceVersion())
	_, err = in.Update(ctx, changed, metav1.UpdateOptions{})
	return err
}

// stop deletes a workload.
func (w *worker) stop(ctx context.Context) error {
	own := w.pick()
	if own == "" {
		return nil
	}
	defer delete(w.workloads, own)
	return w.in(w.workloads[own]).Delete(ctx, own, metav1.DeleteOptions{})
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

// version is a stored version of an object.
type version struct {
	revision int
	deleted  bool
	// names are all strings in the object.
	names map[string]bool
	meta  metav1.Object
}

// history has all versions of all objects, by resource and name. It is safe for concurrent use.
type history struct {
	mu       sync.Mutex
	versions map[string][]version
}

// observe watches all objects of the model, until the test ends.
func observe(t *testing.T, c cluster) *history {
	t.Helper()
	h := &history{versions: map[string][]version{}}
	for _, resource := range []schema.GroupVersionResource{configMaps, secrets, pods, deployments, replicaSets, boats, ships} {
		events, err := c.Dynamic.Resource(resource).Namespace(c.Namespace).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(events.Stop)
		go func() {
			for event := range events.ResultChan() {
				if object, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Bookmark {
					h.add(resource.Resource, object, event.Type == watch.Deleted)
				}
			}
		}()
	}
	return h
}

func (h *history) add(resource string, object *unstructured.Unstructured, deleted bool) {
	revision, _ := strconv.Atoi(object.GetResourceVersion())
	names := map[string]bool{}
	spec, _ := object.Object["spec"]
	collectStrings(spec, names)
	h.mu.Lock()
	defer h.mu.Unlock()
	key := resource + "/" + object.GetName()
	h.versions[key] = append(h.versions[key], version{revision, deleted, names, object})
}

func collectStrings(value any, found map[string]bool) {
	switch value := value.(type) {
	case string:
		found[value] = true
	case []any:
		for _, item := range value {
			collectStrings(item, found)
		}
	case map[string]any:
		for _, item := range value {
			collectStrings(item, found)
		}
	}
}

// split returns the kind of a key, and the name.
func split(key string) (resource, name string) {
	resource, name, _ = strings.Cut(key, "/")
	return resource, name
}

func isTarget(resource string) bool { return resource == "configmaps" || resource == "secrets" }

// check returns how many ConfigMaps and Secrets were deleted, and those that an object had the name of at that revision.
func (h *history) check() (deleted int, wrong []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for target, versions := range h.versions {
		resource, name := split(target)
		if !isTarget(resource) {
			continue
		}
		for _, v := range versions {
			if !v.deleted {
				continue
			}
			deleted++
			for referrer, others := range h.versions {
				if of, _ := split(referrer); isTarget(of) {
					continue
				}
				if at := atRevision(others, v.revision); at != nil && at.names[name] {
					wrong = append(wrong, fmt.Sprintf("%s was deleted at revision %d, and %s of revision %d referred to it", target, v.revision, referrer, at.revision))
				}
			}
		}
	}
	return deleted, wrong
}

// atRevision returns the version that was stored at a revision, nil if there was none.
func atRevision(versions []version, revision int) *version {
	var found *version
	for i := range versions {
		if versions[i].revision <= revision {
			found = &versions[i]
		}
	}
	if found == nil || found.deleted {
		return nil
	}
	return found
}

// unused returns the ConfigMaps and Secrets that exist, that no object has the name of, and that are not the newest of their series.
func (h *history) unused() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	used, newest := map[string]bool{}, map[string]series.Member{}
	for key, versions := range h.versions {
		resource, _ := split(key)
		last := versions[len(versions)-1]
		switch {
		case last.deleted:
		case !isTarget(resource):
			maps.Copy(used, last.names)
		case last.meta.GetLabels()[series.Label] != "":
			of := last.meta.GetLabels()[series.Label]
			found := series.Member{Name: last.meta.GetName(), Created: last.meta.GetCreationTimestamp().Time}
			if other, ok := newest[resource+of]; !ok || series.Compare(of, found, other) < 0 {
				newest[resource+of] = found
			}
		}
	}
	left := map[string]bool{}
	for key, versions := range h.versions {
		resource, name := split(key)
		last := versions[len(versions)-1]
		of := last.meta.GetLabels()[series.Label]
		if isTarget(resource) && !last.deleted && of != "" && !used[name] && newest[resource+of].Name != name {
			left[key] = true
		}
	}
	return left
}
