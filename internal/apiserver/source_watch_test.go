//go:build !plain

package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/connection/inprocess"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/watchcheck"
	"holdfast.dev/holdfast/internal/watchcheck/writes"
)

// TestInformerStreams changes and replaces objects at random while informers run that read in the process. What each informer gets is compared
// with the history of etcd. The watches end again and again, so that the informers resume.
func TestInformerStreams(t *testing.T) {
	t.Parallel()
	url := servertest.StartEtcd(t, transport.TLSInfo{})
	started := servertest.Start(t, apiserver.Config{Etcd: etcd.Cluster{Servers: []string{url}}})
	server, err := connection.Open(started.Config(t), connection.Options{ReplacementsAsChanges: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	changes := newChanges(t, server)
	recorded := &recordedSource{source: started.Source(), random: rand.New(rand.NewPCG(changes.random.Uint64(), 0)), streams: map[string]*recordedStream{}}
	factory := inprocess.NewFactory(server, recorded.objects)
	for _, kind := range comparedKinds() {
		kind.informer(factory)
	}
	changes.make(t, 50)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	factory.StartWithContext(ctx)
	changes.make(t, 50) // the informers may list or watch these
	factory.WaitForCacheSyncWithContext(ctx)
	changes.make(t, 400)
	for _, kind := range comparedKinds() {
		store := kind.informer(factory).GetStore()
		waittest.Until(t, "the informer has the last changes of "+kind.Resource, func() bool { return changes.seen(t, kind, store) })
	}
	stop()
	factory.Shutdown()

	log := writes.New(storedPrefixes()...)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if err := log.Read(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	var total watchcheck.Report
	for _, kind := range comparedKinds() {
		report := recorded.stream(kind.Resource).check(log.Truth(storedPrefix(kind.Resource)))
		if report.Events < 3 || report.Watches < 2 || report.Unknown > 0 {
			t.Errorf("%s: too little was checked: %s", kind.Resource, report)
		}
		total.Add(report)
	}
	for _, violation := range total.Violations {
		t.Error(violation)
	}
	if total.Events < 200 {
		t.Errorf("only %d events", total.Events)
	}
	t.Log(total)
}

// storedPrefix returns the begin of the keys of a resource in etcd.
func storedPrefix(resource string) string { return storage.KeyPrefix + "/" + resource + "/" }

func storedPrefixes() []string {
	var all []string
	for _, kind := range comparedKinds() {
		all = append(all, storedPrefix(kind.Resource))
	}
	return all
}

// recordedSource is a source that records what informers get from another one, and ends their watches after some events.
type recordedSource struct {
	source  inprocess.Source
	mu      sync.Mutex
	random  *rand.Rand
	streams map[string]*recordedStream
}

func (s *recordedSource) stream(resource string) *recordedStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[resource] == nil {
		s.streams[resource] = &recordedStream{stream: watchcheck.Stream{Name: resource, AsChanges: true}}
	}
	return s.streams[resource]
}

// length returns the number of events until a watch ends.
func (s *recordedSource) length() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return 1 + s.random.IntN(15)
}

func (s *recordedSource) objects(resource schema.GroupVersionResource) cache.ListerWatcherWithContext {
	objects, recorded := s.source(resource), s.stream(resource.Resource)
	if objects == nil {
		return nil
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := objects.ListWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return list, recorded.list(list)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := objects.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			// The initial events are never cut: there may be more of them than the length of every watch.
			initial, left := recorded.begin(options), s.length()
			return watch.Filter(events, func(event watch.Event) (watch.Event, bool) {
				if left--; left < 0 && !initial {
					events.Stop()
					return event, false
				}
				if recorded.event(event) {
					initial = false
				}
				return event, true
			}), nil
		},
	}
}

// recordedStream is what one informer gets.
type recordedStream struct {
	mu     sync.Mutex
	stream watchcheck.Stream
	err    error
}

func (r *recordedStream) list(list runtime.Object) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	about, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	var objects []watchcheck.Object
	for _, item := range items {
		objects = append(objects, r.decoded(item))
	}
	r.stream.Listed(watchcheck.RevisionOf(watchcheck.Object{"metadata": map[string]any{"resourceVersion": about.GetResourceVersion()}}), objects)
	return nil
}

// begin records the begin of a watch, and reports whether it has initial events.
func (r *recordedStream) begin(options metav1.ListOptions) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := watchcheck.RevisionOf(watchcheck.Object{"metadata": map[string]any{"resourceVersion": options.ResourceVersion}})
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		r.stream.BeganInitial(from)
		return true
	}
	r.stream.Began(from)
	return false
}

// event records an event, and reports whether it ends the initial events.
func (r *recordedStream) event(event watch.Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if event.Type == watch.Error {
		return false // the informer lists or watches again
	}
	if cached, ok := event.Object.(runtime.CacheableObject); ok {
		event.Object = cached.GetObject()
	}
	object := r.decoded(event.Object)
	accessor, err := meta.Accessor(event.Object)
	switch {
	case err != nil:
		r.err = err
	case event.Type != watch.Bookmark:
		r.stream.Event(string(event.Type), object)
	case accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true":
		r.stream.InitialEnd(watchcheck.RevisionOf(object))
		return true
	default:
		r.stream.Bookmark(watchcheck.RevisionOf(object))
	}
	return false
}

// decoded returns an object as JSON has it.
func (r *recordedStream) decoded(o runtime.Object) watchcheck.Object {
	var object watchcheck.Object
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &object)
	}
	if err != nil {
		r.err = fmt.Errorf("decode %T: %w", o, err)
	}
	return object
}

// check compares what the informer got with the history of etcd.
func (r *recordedStream) check(truth *watchcheck.Truth) watchcheck.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := r.stream.Check(truth)
	if r.err != nil {
		report.Violations = append(report.Violations, watchcheck.Violation{Rule: watchcheck.Content, Text: r.err.Error()})
	}
	return report
}
