package replace_test

import (
	"reflect"
	"strconv"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/waittest"
)

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// source starts a watch, as a client for objects and one for metadata do.
type source func(options metav1.ListOptions) (watch.Interface, error)

// seen is an event of a watch.
type seen struct {
	Type    watch.EventType
	UID     types.UID
	Version string
}

// follow sends the events after a version. When the watch ends, it resumes at the last event, as clients do.
func follow(t *testing.T, open source, selector, version string) <-chan seen {
	t.Helper()
	events := make(chan seen, 100)
	go func() {
		for t.Context().Err() == nil {
			w, err := open(metav1.ListOptions{LabelSelector: selector, ResourceVersion: version, AllowWatchBookmarks: true})
			if err != nil {
				continue
			}
			for event := range w.ResultChan() {
				object, ok := event.Object.(metav1.Object)
				if !ok {
					events <- seen{Type: event.Type}
					continue
				}
				version = object.GetResourceVersion()
				events <- seen{event.Type, object.GetUID(), version}
			}
		}
	}()
	return events
}

// expect reads the next events. Bookmarks do not count at the beginning.
func expect(t *testing.T, name string, events <-chan seen, want ...seen) {
	t.Helper()
	for i := range want {
		got := waittest.Receive(t, name, events)
		for i == 0 && got.Type == watch.Bookmark {
			got = waittest.Receive(t, name, events)
		}
		if got != want[i] {
			t.Fatalf("%s: event %d is %v, want %v", name, i, got, want[i])
		}
	}
}

// before returns the resourceVersion that is one lower.
func before(version string) string {
	n, _ := strconv.ParseInt(version, 10, 64)
	return strconv.FormatInt(n-1, 10)
}

// Watches see that the old object is deleted, and that the new one is added: watches of all objects, with selectors, and of metadata;
// of built-in kinds, encrypted ones and custom resources; also after a reconnection between the two events.
func TestWatch(t *testing.T) {
	t.Parallel()
	boats := defineBoats(t, "watch.example.com")
	for name, test := range map[string]struct {
		resource schema.GroupVersionResource
		text     string
	}{
		"config maps": {configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {state: first}}, immutable: true}`},
		"secrets":     {secrets, `{apiVersion: v1, kind: Secret, metadata: {name: a, labels: {state: first}}, immutable: true}`},
		"boats":       {boats, `{apiVersion: watch.example.com/v1, kind: Boat, metadata: {name: a, labels: {state: first}}, spec: {hull: wood}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			partial, err := metadata.NewForConfig(c.Config)
			if err != nil {
				t.Fatal(err)
			}
			objects := func(options metav1.ListOptions) (watch.Interface, error) {
				return c.Dynamic.Resource(test.resource).Namespace(c.Namespace).Watch(t.Context(), options)
			}
			onlyMetadata := func(options metav1.ListOptions) (watch.Interface, error) {
				return partial.Resource(test.resource).Namespace(c.Namespace).Watch(t.Context(), options)
			}
			first := c.create(t, test.resource, test.text)
			list, err := c.Dynamic.Resource(test.resource).Namespace(c.Namespace).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			start := list.GetResourceVersion()
			all, meta := follow(t, objects, "", start), follow(t, onlyMetadata, "", start)
			old, next := follow(t, objects, "state=first", start), follow(t, objects, "state=second", start)

			second := c.mustReplace(t, test.resource, with(t, first, "second", "metadata", "labels", "state"))
			deleted := seen{watch.Deleted, first.GetUID(), before(second.GetResourceVersion())}
			added := seen{watch.Added, second.GetUID(), second.GetResourceVersion()}
			expect(t, "all", all, deleted, added)
			expect(t, "metadata", meta, deleted, added)
			expect(t, "the old object is selected", old, seen{watch.Deleted, first.GetUID(), second.GetResourceVersion()})
			expect(t, "the new object is selected", next, added)

			third := c.mustReplace(t, test.resource, second)
			deletedAgain := seen{watch.Deleted, second.GetUID(), before(third.GetResourceVersion())}
			addedAgain := seen{watch.Added, third.GetUID(), third.GetResourceVersion()}
			expect(t, "all, again", all, deletedAgain, addedAgain)
			expect(t, "both are selected", next, deletedAgain, addedAgain)

			// A client that has lost its connection after the first of the two events gets the second one.
			expect(t, "resumed between the events", follow(t, objects, "", deletedAgain.Version), deletedAgain, addedAgain)
			expect(t, "resumed before the first replacement", follow(t, objects, "", start), deleted, added, deletedAgain, addedAgain)
			fourth := c.mustReplace(t, test.resource, third)
			expect(t, "resumed behind both", follow(t, objects, "", third.GetResourceVersion()),
				seen{watch.Deleted, third.GetUID(), before(fourth.GetResourceVersion())}, seen{watch.Added, fourth.GetUID(), fourth.GetResourceVersion()})
		})
	}
}

// Watches with initial events that begin at the resourceVersion of a deletion, which is one lower than that of the new object, show one
// object at each moment but that between the two events of a replacement. No other event lies there, and no bookmark: not the one after
// the initial events either, while the object is replaced again and again.
func TestInitialEvents(t *testing.T) {
	t.Parallel()
	boats := defineBoats(t, "initial.example.com")
	for name, test := range map[string]struct {
		resource schema.GroupVersionResource
		text     string
	}{
		"config maps": {configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true}`},
		"boats":       {boats, `{apiVersion: initial.example.com/v1, kind: Boat, metadata: {name: a}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			open := func(version string) (watch.Interface, error) {
				return c.Dynamic.Resource(test.resource).Namespace(c.Namespace).Watch(t.Context(), metav1.ListOptions{
					FieldSelector: "metadata.name=a", AllowWatchBookmarks: true, SendInitialEvents: new(true),
					ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
				})
			}
			object := c.create(t, test.resource, test.text)
			// The first replacement of a kind ends the watches that are open.
			object = c.mustReplace(t, test.resource, object)
			type begun struct {
				events  watch.Interface
				version string
			}
			var all []begun
			for range 20 {
				object = c.mustReplace(t, test.resource, object)
				one := begun{version: before(object.GetResourceVersion())}
				var err error
				if one.events, err = open(one.version); err != nil {
					t.Fatal(err)
				}
				all = append(all, one)
			}
			for _, one := range all {
				replay(t, open, one.events, one.version, object.GetUID())
			}
		})
	}
}

// replay reads a watch with initial events until the object has a UID.
func replay(t *testing.T, open func(version string) (watch.Interface, error), events watch.Interface, version string, last types.UID) {
	t.Helper()
	var shown types.UID
	var previous watch.EventType
	for listed := false; !listed || shown != last; {
		event := waittest.Receive(t, "an event", events.ResultChan())
		object, ok := event.Object.(metav1.Object)
		if !ok {
			// The server ends a watch now and then. As a client does, it begins again at the last event.
			var err error
			if events, err = open(version); err != nil {
				t.Fatal(err)
			}
			shown, previous, listed = "", "", false
			continue
		}
		switch {
		case event.Type == watch.Added && shown == "":
			shown = object.GetUID()
		case event.Type == watch.Deleted && shown == object.GetUID():
			shown = ""
		case event.Type == watch.Bookmark && previous != watch.Deleted:
			listed = listed || object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
		default:
			t.Fatalf("%s of %s at %s comes after %s, with %s shown", event.Type, object.GetUID(), object.GetResourceVersion(), previous, shown)
		}
		previous, version = event.Type, object.GetResourceVersion()
	}
	events.Stop()
}

// An informer tells its handlers that the old object was deleted and the new one was added, and ends with the new one.
func TestInformer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	object := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true}`)
	informer := dynamicinformer.NewFilteredDynamicInformer(c.Dynamic, configMaps, c.Namespace, 0, cache.Indexers{}, nil).Informer()
	var deleted, added atomic.Int32
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { added.Add(1) }, DeleteFunc: func(any) { deleted.Add(1) },
	}); err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(t.Context())
	waittest.Until(t, "the informer has listed", informer.HasSynced)
	const times = 20
	for range times {
		object = c.mustReplace(t, configMaps, object)
	}
	waittest.Until(t, "the informer has the last object", func() bool {
		found, exists, err := informer.GetStore().GetByKey(c.Namespace + "/a")
		stored, ok := found.(*unstructured.Unstructured)
		return err == nil && exists && ok && stored.GetUID() == object.GetUID()
	})
	t.Logf("%d deleted, %d added", deleted.Load(), added.Load())
}
