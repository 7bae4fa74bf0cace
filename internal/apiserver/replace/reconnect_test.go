package replace_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// cutter is the transport of a client whose watches break right after some of their events.
type cutter struct {
	http.RoundTripper
	// breaks says whether the watch breaks after an event.
	breaks func(event change) bool
	// begin is called before each watch begins. It may change the query.
	begin func(query url.Values)
	cuts  atomic.Int32
	// gap is an event that came after a deletion and is no addition.
	gap atomic.Pointer[string]
}

// change is an event as the server sends it.
type change struct {
	Type   watch.EventType
	Object metav1.PartialObjectMetadata
}

// RoundTrip implements http.RoundTripper.
func (c *cutter) RoundTrip(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	if query.Get("watch") == "" {
		return c.RoundTripper.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	// An event is one line then.
	req.Header.Set("Accept", strings.ReplaceAll(strings.Split(req.Header.Get("Accept"), ",")[0], "vnd.kubernetes.protobuf", "json"))
	c.begin(query)
	req.URL.RawQuery = query.Encode()
	response, err := c.RoundTripper.RoundTrip(req)
	if err == nil && response.StatusCode == http.StatusOK {
		response.Body = &cutBody{Closer: response.Body, lines: bufio.NewReader(response.Body), cutter: c}
	}
	return response, err
}

// cutBody ends after an event.
type cutBody struct {
	io.Closer
	lines  *bufio.Reader
	cutter *cutter
	rest   []byte
	cut    bool
	last   watch.EventType
}

// Read implements io.Reader.
func (b *cutBody) Read(into []byte) (int, error) {
	if len(b.rest) == 0 {
		if b.cut {
			b.cutter.cuts.Add(1)
			return 0, io.ErrUnexpectedEOF
		}
		line, err := b.lines.ReadBytes('\n')
		if err != nil {
			return 0, err
		}
		var event change
		if err := json.Unmarshal(line, &event); err != nil {
			return 0, err
		}
		if text := string(line); b.last == watch.Deleted && event.Type != watch.Added {
			b.cutter.gap.CompareAndSwap(nil, &text)
		}
		b.rest, b.last, b.cut = line, event.Type, b.cutter.breaks(event)
	}
	n := copy(into, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// shown are the objects that the handlers of an informer know, by name.
type shown struct {
	mu      sync.Mutex
	objects map[string]types.UID
}

func (s *shown) set(obj any, exists bool) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	object := obj.(metav1.Object)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case exists:
		s.objects[object.GetName()] = object.GetUID()
	case s.objects[object.GetName()] == object.GetUID():
		delete(s.objects, object.GetName())
	}
}

func (s *shown) only(name string, uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.objects) == 1 && s.objects[name] == uid
}

// clientKinds return an informer of the ConfigMap a with each kind of client.
var clientKinds = map[string]func(config *rest.Config, namespace string) cache.SharedIndexInformer{
	"typed": func(config *rest.Config, namespace string) cache.SharedIndexInformer {
		factory := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(config), 0, informers.WithNamespace(namespace),
			informers.WithTweakListOptions(named))
		return factory.Core().V1().ConfigMaps().Informer()
	},
	"dynamic": func(config *rest.Config, namespace string) cache.SharedIndexInformer {
		return dynamicinformer.NewFilteredDynamicInformer(dynamic.NewForConfigOrDie(config), configMaps, namespace, 0, cache.Indexers{}, named).Informer()
	},
	"metadata": func(config *rest.Config, namespace string) cache.SharedIndexInformer {
		return metadatainformer.NewFilteredMetadataInformer(metadata.NewForConfigOrDie(config), configMaps, namespace, 0, cache.Indexers{}, named).Informer()
	},
}

// cutInformer is an informer whose watches a cutter breaks.
type cutInformer struct {
	cache.SharedIndexInformer
	cutter  *cutter
	key     string
	handled *shown
}

// informer runs an informer that reads through a cutter, until the context ends.
func (c cluster) informer(
	ctx context.Context, t *testing.T, cut *cutter, open func(config *rest.Config, namespace string) cache.SharedIndexInformer,
) cutInformer {
	t.Helper()
	config := rest.CopyConfig(c.Config)
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		cut.RoundTripper = inner
		return cut
	})
	informer := cutInformer{open(config, c.Namespace), cut, c.Namespace + "/a", &shown{objects: map[string]types.UID{}}}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { informer.handled.set(obj, true) },
		UpdateFunc: func(_, obj any) { informer.handled.set(obj, true) },
		DeleteFunc: func(obj any) { informer.handled.set(obj, false) },
	}); err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(ctx)
	waittest.Until(t, "the informer has listed", informer.HasSynced)
	return informer
}

// await waits until the informer has an object.
func (i cutInformer) await(t *testing.T, object metav1.Object) {
	t.Helper()
	waittest.Until(t, "the informer has the new object", func() bool {
		found, exists, err := i.GetStore().GetByKey(i.key)
		return err == nil && exists && found.(metav1.Object).GetUID() == object.GetUID()
	})
}

// end checks that the informer has an object and no other one, and that each deletion that it read was followed by an addition.
func (i cutInformer) end(t *testing.T, object metav1.Object) {
	t.Helper()
	i.await(t, object)
	if all := i.GetStore().ListKeys(); len(all) != 1 {
		t.Errorf("the informer has %v", all)
	}
	waittest.Until(t, "the handlers know the new object, and no other one", func() bool { return i.handled.only("a", object.GetUID()) })
	if gap := i.cutter.gap.Load(); gap != nil {
		t.Errorf("between a deletion and the addition came %s", *gap)
	}
}

// Informers of each kind of client end with the new object and no other one, although their watches break between the two events of a
// replacement: they resume at the resourceVersion of the deletion. If it has expired, they ask for all objects that are not older, with
// sendInitialEvents.
func TestReconnect(t *testing.T) {
	t.Parallel()
	// A server that was started again has no events of the time before.
	dir := t.TempDir()
	first := servertest.Start(t, apiserver.Config{DataDir: dir})
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	again := servertest.Start(t, apiserver.Config{DataDir: dir})
	for name, open := range clientKinds {
		for _, expired := range []bool{false, true} {
			kind := name
			if expired {
				kind += ", expired"
			}
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				if expired {
					c = cluster{again.Cluster(t)}
					c.Namespace = servertest.CreateNamespace(t, c, "replace-")
				}
				object := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true}`)
				var seen, initial sync.Map
				cut := &cutter{breaks: func(event change) bool {
					if event.Type != watch.Deleted {
						return false
					}
					// A client that resumes at a deletion gets it again.
					_, again := seen.LoadOrStore(event.Object.ResourceVersion, true)
					return !again
				}}
				cut.begin = func(query url.Values) {
					if query.Get("sendInitialEvents") != "" {
						initial.Store(query.Get("resourceVersion"), query.Get("resourceVersionMatch"))
					} else if expired && cut.cuts.Load()%2 == 1 {
						query.Set("resourceVersion", "1")
					}
				}
				informer := c.informer(t.Context(), t, cut, open)
				for round := 0; round < 3 || cut.cuts.Load() < 2; round++ {
					object = c.mustReplace(t, configMaps, object)
					informer.await(t, object)
				}
				informer.end(t, object)
				began := false
				seen.Range(func(version, _ any) bool {
					match, ok := initial.Load(version)
					began = began || ok && match == string(metav1.ResourceVersionMatchNotOlderThan)
					return true
				})
				if expired && !began {
					t.Error("no watch with initial events began at the resourceVersion of a deletion")
				}
			})
		}
	}
}

// Informers end with the new object and no other one if their watches break right before a replacement: at the bookmark after the initial
// events, where clients begin again with initial events, or at another change of the object, where they resume. The resourceVersion of
// both is that of the deletion: no other write lies between them and the replacement.
func TestReconnectBefore(t *testing.T) {
	t.Parallel()
	// Other tests write to the shared server all the time.
	c := cluster{servertest.Start(t, apiserver.Config{}).Cluster(t)}
	object := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true}`)
	for name, open := range clientKinds {
		for _, at := range []watch.EventType{watch.Bookmark, watch.Modified} {
			t.Run(fmt.Sprint(name, ", ", at), func(t *testing.T) {
				// The server itself may write in between. Then the test tries again.
				for exact := false; !exact; {
					version := ""
					object, version = c.replaceAfterBreak(t, object, at, open)
					exact = before(object.GetResourceVersion()) == version
				}
			})
		}
	}
}

// replaceAfterBreak replaces an object after the watch of an informer has broken at the first event of a type, and returns the new object
// and the resourceVersion of the event.
func (c cluster) replaceAfterBreak(
	t *testing.T, object *unstructured.Unstructured, at watch.EventType,
	open func(config *rest.Config, namespace string) cache.SharedIndexInformer,
) (next *unstructured.Unstructured, version string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var broken atomic.Bool
	events, begun, replaced := make(chan change, 1), make(chan url.Values, 1), make(chan struct{})
	cut := &cutter{
		breaks: func(event change) bool {
			if event.Type != at || broken.Swap(true) {
				return false
			}
			events <- event
			return true
		},
		begin: func(query url.Values) {
			if !broken.Load() {
				return
			}
			select {
			case begun <- query:
			default:
			}
			select {
			case <-replaced:
			case <-ctx.Done():
			}
		},
	}
	informer := c.informer(ctx, t, cut, open)
	if at == watch.Modified {
		label := []byte(fmt.Sprintf(`{"metadata":{"labels":{"before":%q}}}`, object.GetUID()))
		var err error
		if object, err = do(t.Context(), c.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath(c.path(configMaps, "a")).Body(label)); err != nil {
			t.Fatal(err)
		}
	}
	version = waittest.Receive(t, "the event", events).Object.ResourceVersion
	informer.await(t, object)
	if got := waittest.Receive(t, "the informer begins again", begun).Get("resourceVersion"); got != version {
		t.Errorf("after the event at %s the informer begins again at %s", version, got)
	}
	next = c.mustReplace(t, configMaps, object)
	close(replaced)
	informer.end(t, next)
	return next, version
}

func named(options *metav1.ListOptions) { options.FieldSelector = "metadata.name=a" }

// A watch of a table, as that of `kubectl get -w`, shows the old row as deleted and the new one as added.
func TestTableWatch(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true}`)
	// The first replacement ends the watches that are open.
	old = c.mustReplace(t, configMaps, old)
	// When the watch cache has seen it, they have ended.
	if _, err := c.CoreV1().ConfigMaps(c.Namespace).List(t.Context(), metav1.ListOptions{
		ResourceVersion: old.GetResourceVersion(), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}); err != nil {
		t.Fatal(err)
	}
	stream, err := c.CoreV1().RESTClient().Get().AbsPath(c.path(configMaps, "")).Param("watch", "true").Param("fieldSelector", "metadata.name=a").
		Param("resourceVersion", old.GetResourceVersion()).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	events := json.NewDecoder(stream)
	next := c.mustReplace(t, configMaps, old)
	for _, want := range []seen{{watch.Deleted, old.GetUID(), before(next.GetResourceVersion())}, {watch.Added, next.GetUID(), next.GetResourceVersion()}} {
		var event struct {
			Type   watch.EventType
			Object struct {
				Kind string
				Rows []struct {
					Cells  []any
					Object metav1.PartialObjectMetadata
				}
			}
		}
		if err := events.Decode(&event); err != nil {
			t.Fatal(err)
		}
		if event.Object.Kind != "Table" || len(event.Object.Rows) != 1 || event.Object.Rows[0].Cells[0] != "a" {
			t.Fatalf("event %+v", event)
		}
		row := event.Object.Rows[0].Object
		if got := (seen{event.Type, row.UID, row.ResourceVersion}); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
