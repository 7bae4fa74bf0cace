package replace_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	"holdfast.dev/holdfast/internal/waittest"
)

// cutter is the transport of a client whose watches break right after each deletion: between the two events of a replacement.
type cutter struct {
	http.RoundTripper
	// expired makes the client resume at a resourceVersion that the server has no events of any more.
	expired bool
	cuts    atomic.Int32
	// seen are the deletions after which a watch broke. A client that resumes there gets the deletion again.
	seen sync.Map
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
	if c.expired && c.cuts.Load()%2 == 1 && query.Get("sendInitialEvents") == "" {
		query.Set("resourceVersion", "1")
		req.URL.RawQuery = query.Encode()
	}
	response, err := c.RoundTripper.RoundTrip(req)
	if err == nil && response.StatusCode == http.StatusOK {
		response.Body = &cutBody{Closer: response.Body, lines: bufio.NewReader(response.Body), cutter: c}
	}
	return response, err
}

// cutBody ends after a deletion.
type cutBody struct {
	io.Closer
	lines  *bufio.Reader
	cutter *cutter
	rest   []byte
	cut    bool
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
		b.rest = line
		if bytes.Contains(line, []byte(`"type":"DELETED"`)) {
			_, again := b.cutter.seen.LoadOrStore(string(line), true)
			b.cut = !again
		}
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

// Informers of each kind of client end with the new object and no other one, although their watches break between the two events of a
// replacement: they resume at the resourceVersion of the deletion, or list again because it has expired.
func TestReconnect(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, config *rest.Config, namespace string) cache.SharedIndexInformer{
		"typed": func(_ *testing.T, config *rest.Config, namespace string) cache.SharedIndexInformer {
			factory := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(config), 0, informers.WithNamespace(namespace),
				informers.WithTweakListOptions(named))
			return factory.Core().V1().ConfigMaps().Informer()
		},
		"dynamic": func(_ *testing.T, config *rest.Config, namespace string) cache.SharedIndexInformer {
			return dynamicinformer.NewFilteredDynamicInformer(dynamic.NewForConfigOrDie(config), configMaps, namespace, 0, cache.Indexers{}, named).Informer()
		},
		"metadata": func(_ *testing.T, config *rest.Config, namespace string) cache.SharedIndexInformer {
			return metadatainformer.NewFilteredMetadataInformer(metadata.NewForConfigOrDie(config), configMaps, namespace, 0, cache.Indexers{}, named).Informer()
		},
	} {
		for _, expired := range []bool{false, true} {
			kind := name
			if expired {
				kind += ", expired"
			}
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				object := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true}`)
				cut := &cutter{expired: expired}
				config := rest.CopyConfig(c.Config)
				config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
					cut.RoundTripper = inner
					return cut
				})
				informer := open(t, config, c.Namespace)
				handled := &shown{objects: map[string]types.UID{}}
				if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
					AddFunc:    func(obj any) { handled.set(obj, true) },
					UpdateFunc: func(_, obj any) { handled.set(obj, true) },
					DeleteFunc: func(obj any) { handled.set(obj, false) },
				}); err != nil {
					t.Fatal(err)
				}
				go informer.RunWithContext(t.Context())
				waittest.Until(t, "the informer has listed", informer.HasSynced)
				for round := 0; round < 3 || cut.cuts.Load() < 2; round++ {
					object = c.mustReplace(t, configMaps, object)
					waittest.Until(t, "the informer has the new object", func() bool {
						found, exists, err := informer.GetStore().GetByKey(c.Namespace + "/a")
						return err == nil && exists && found.(metav1.Object).GetUID() == object.GetUID()
					})
				}
				if all := informer.GetStore().ListKeys(); len(all) != 1 {
					t.Errorf("the informer has %v", all)
				}
				waittest.Until(t, "the handlers know the new object, and no other one", func() bool { return handled.only("a", object.GetUID()) })
			})
		}
	}
}

func named(options *metav1.ListOptions) { options.FieldSelector = "metadata.name=a" }

// A watch of a table, as that of `kubectl get -w`, shows the old row as deleted and the new one as added.
func TestTableWatch(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true}`)
	// The first replacement ends the watches that are open.
	old = c.mustReplace(t, configMaps, old)
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
