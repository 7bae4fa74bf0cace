package selection_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/apiserver/selection"
)

// store is a selection with its two streams.
type store struct {
	*selection.Selection
	pods    *selection.PodStream
	objects *selection.ObjectStream
}

// newStore returns an empty store; both streams have reached version 1.
func newStore() store {
	s := selection.New(&node.Index{}, selection.Kind{
		Resource: "configmaps",
		New:      func() selection.Object { return &corev1.ConfigMap{} },
		Fixed: func(obj selection.Object) bool {
			immutable := obj.(*corev1.ConfigMap).Immutable
			return immutable != nil && *immutable
		},
	})
	pods, objects := s.Pods(), s.Objects("configmaps")
	pods.Replace(nil, 1)
	objects.Replace(nil, 1)
	return store{s, pods, objects}
}

func configMap(name string, version uint64) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: name, ResourceVersion: strconv.FormatUint(version, 10),
	}}
}

func pod(name, nodeName string, used ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: corev1.PodSpec{NodeName: nodeName}}
	for _, configMap := range used {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}},
		}})
	}
	return p
}

// do applies changes. Each begins with its version:
//
//	12 pod p n1 x y   pod p on node n1 uses the ConfigMaps x and y
//	13 map x          ConfigMap x is created or changed
//	14 fix x          ConfigMap x becomes immutable
//	15 unmap x        ConfigMap x is deleted
//	16 unpod p        pod p is deleted
//	17                both streams have reached this version
func (s store) do(t testing.TB, changes ...string) {
	t.Helper()
	for _, change := range changes {
		words := strings.Fields(change)
		version, err := strconv.ParseUint(words[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case len(words) == 1:
			s.pods.Progress(version)
			s.objects.Progress(version)
		case words[1] == "pod":
			s.pods.Change(watch.Modified, pod(words[2], words[3], words[4:]...), version)
		case words[1] == "unpod":
			s.pods.Change(watch.Deleted, pod(words[2], ""), version)
		case words[1] == "map":
			s.objects.Change(watch.Modified, configMap(words[2], version), version)
		case words[1] == "fix":
			fixed := configMap(words[2], version)
			fixed.Immutable = new(true)
			s.objects.Change(watch.Modified, fixed, version)
		case words[1] == "unmap":
			s.objects.Change(watch.Deleted, configMap(words[2], version), version)
		default:
			t.Fatalf("unknown change %q", change)
		}
	}
}

func (s store) watch(t testing.TB, r selection.Request) watch.Interface {
	t.Helper()
	w := s.Watch(t.Context(), "configmaps", r)
	t.Cleanup(w.Stop)
	return w
}

// sent returns the events that a watch has got so far, such as "ADDED x@13".
func sent(w watch.Interface) []string {
	var events []string
	for {
		select {
		case event, ok := <-w.ResultChan():
			if !ok {
				return append(events, "closed")
			}
			events = append(events, describe(event))
		default:
			return events
		}
	}
}

func describe(event watch.Event) string {
	if status, ok := event.Object.(*metav1.Status); ok {
		return fmt.Sprintf("%s %d %s", event.Type, status.Code, status.Message)
	}
	obj, err := meta.Accessor(event.Object)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s@%s", event.Type, obj.GetName(), obj.GetResourceVersion())
}

func TestWatch(t *testing.T) {
	tests := map[string]struct {
		changes []string
		want    []string
	}{
		"the pod comes last":    {[]string{"2 map x", "3 pod p n1 x"}, []string{"ADDED x@2"}},
		"the object comes last": {[]string{"2 pod p n1 x", "3 map x"}, []string{"ADDED x@3"}},
		"modified":              {[]string{"2 pod p n1 x", "3 map x", "4 map x"}, []string{"ADDED x@3", "MODIFIED x@4"}},
		"not used":              {[]string{"2 map x", "3 map x", "4 unmap x"}, nil},
		"used by another node":  {[]string{"2 pod p n2 x", "3 map x", "4 map x"}, nil},
		"deleted":               {[]string{"2 pod p n1 x", "3 map x", "4 unmap x"}, []string{"ADDED x@3", "DELETED x@4"}},
		"another pod uses it":   {[]string{"2 pod p n1 x", "3 map x", "4 pod q n1 x", "5 unpod p"}, []string{"ADDED x@3"}},
		"the last pod is deleted": {
			[]string{"2 pod p n1 x", "3 map x", "4 pod q n1 x", "5 unpod p", "6 unpod q", "7 map x"},
			[]string{"ADDED x@3", "DELETED x@3"},
		},
		"pod moves to the node": {[]string{"2 map x", "3 pod p n2 x", "4 pod p n1 x"}, []string{"ADDED x@2"}},
		"becomes immutable": {
			[]string{"2 pod p n1 x", "3 map x", "4 fix x", "5 fix x", "6 unmap x"},
			[]string{"ADDED x@3", "DELETED x@4"},
		},
		"immutable at creation":    {[]string{"2 fix x", "3 pod p n1 x", "4 fix x", "5 unpod p"}, nil},
		"immutable, then replaced": {[]string{"2 fix x", "3 pod p n1 x", "4 unmap x", "5 map x"}, []string{"ADDED x@5"}},
		"pods ahead":               {[]string{"2 pod p n1 x", "9 pod q n1 y", "3 map x", "4 map y"}, []string{"ADDED x@3", "ADDED y@4"}},
		"pod gone before object":   {[]string{"8 pod p n1 x", "9 unpod p", "3 map x"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			open := s.watch(t, selection.Request{Node: "n1", Initial: true})
			s.do(t, test.changes...)
			if diff := cmp.Diff(test.want, sent(open)); diff != "" {
				t.Errorf("an open watch (-want +got):\n%s", diff)
			}
			// A watch from the beginning gets the same events from the history.
			s.do(t, "20")
			if diff := cmp.Diff(test.want, sent(s.watch(t, selection.Request{Node: "n1", Version: 1}))); diff != "" {
				t.Errorf("a watch that resumes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNothingIsLost checks that a client which lists, watches, disconnects and resumes ends
// with the right objects, whichever stream is ahead of the other.
func TestNothingIsLost(t *testing.T) {
	changes := []string{
		"2 map x", "3 pod p n1 x y", "4 map y", "5 map x", "6 unpod p", "7 pod q n1 y", "8 fix y", "9 unmap y", "10 map y",
	}
	var pods, objects []string
	for _, change := range changes {
		if strings.Contains(change, "pod") {
			pods = append(pods, change)
		} else {
			objects = append(objects, change)
		}
	}
	// Try every order in which the changes of two streams can arrive. Each bit of path selects
	// the stream of one change.
	for path := range 1 << len(changes) {
		order := merge(pods, objects, path)
		if order == nil {
			continue
		}
		for cut := range len(order) + 1 {
			for listed := range cut + 1 {
				s, state := newStore(), view{}
				s.do(t, order[:listed]...)
				version := state.list(t, s)
				w := s.watch(t, selection.Request{Node: "n1", Version: version})
				s.do(t, order[listed:cut]...)
				version = state.follow(t, w, version)
				w.Stop()
				s.do(t, order[cut:]...)
				s.do(t, "20")
				state.follow(t, s.watch(t, selection.Request{Node: "n1", Version: version}), version)
				if state["x"] || !state["y"] {
					t.Fatalf("%q, listed after %d, resumed from %d after %d: %v", order, listed, version, cut, state)
				}
			}
		}
	}
}

// view holds the objects that a client knows.
type view map[string]bool

func (v view) list(t testing.TB, s store) uint64 {
	t.Helper()
	items, version, err := s.List(t.Context(), "configmaps", selection.Request{Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		v[item.GetName()] = true
	}
	return version
}

// follow applies the events of a watch, and returns the version of the last one.
func (v view) follow(t testing.TB, w watch.Interface, version uint64) uint64 {
	t.Helper()
	for _, event := range sent(w) {
		version = v.apply(t, event)
	}
	return version
}

// apply applies an event, and returns its version.
func (v view) apply(t testing.TB, event string) uint64 {
	t.Helper()
	kind, rest, _ := strings.Cut(event, " ")
	name, last, _ := strings.Cut(rest, "@")
	v[name] = kind != "DELETED"
	version, err := strconv.ParseUint(last, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// existing returns the objects that exist.
func (v view) existing() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if v[name] {
			names = append(names, name)
		}
	}
	return names
}

// merge merges two lists in the order of path. It returns nil if path takes more from one list
// than it has.
func merge(a, b []string, path int) []string {
	var merged []string
	for i := range len(a) + len(b) {
		from := &a
		if path>>i&1 == 1 {
			from = &b
		}
		if len(*from) == 0 {
			return nil
		}
		merged, *from = append(merged, (*from)[0]), (*from)[1:]
	}
	return merged
}

func TestHistoryEnds(t *testing.T) {
	s := newStore()
	s.do(t, "2 pod p n1 x")
	for version := range uint64(2000) {
		s.objects.Change(watch.Modified, configMap("x", version+3), version+3)
	}
	s.do(t, "2010")
	want := []string{"ERROR 410 too old resource version: 500 (978)", "closed"}
	if got := sent(s.watch(t, selection.Request{Node: "n1", Version: 500})); !cmp.Equal(got, want) {
		t.Errorf("an old version: %q", got)
	}
	if got := sent(s.watch(t, selection.Request{Node: "n1", Version: 978})); len(got) != 1024 || got[0] != "MODIFIED x@979" {
		t.Errorf("the oldest version: %d, %q", len(got), got[:1])
	}
}

// Large objects leave room for fewer entries.
func TestHistoryOfLargeObjectsEnds(t *testing.T) {
	s := newStore()
	s.do(t, "2 pod p n1 x")
	text := strings.Repeat("x", 1<<20-1<<10)
	for version := range uint64(40) {
		large := configMap("x", version+3)
		large.Data = map[string]string{"text": text}
		s.objects.Change(watch.Modified, large, version+3)
	}
	s.do(t, "50")
	want := []string{"ERROR 410 too old resource version: 9 (10)", "closed"}
	if got := sent(s.watch(t, selection.Request{Node: "n1", Version: 9})); !cmp.Equal(got, want) {
		t.Errorf("an old version: %q", got)
	}
	if got := sent(s.watch(t, selection.Request{Node: "n1", Version: 10})); len(got) != 32 || got[0] != "MODIFIED x@11" {
		t.Errorf("the oldest version: %d, %q", len(got), got[:1])
	}
}

func TestSlowClientIsClosed(t *testing.T) {
	s := newStore()
	s.do(t, "2 pod p n1 x", "3 map x")
	slow := s.watch(t, selection.Request{Node: "n1", Initial: true, Version: 1})
	quick := s.watch(t, selection.Request{Node: "n1", Version: 1})
	sent(quick)
	for version := range uint64(100) {
		s.objects.Change(watch.Modified, configMap("x", version+4), version+4)
	}
	if got := sent(quick); len(got) != 100 {
		t.Errorf("the client that reads got %d events", len(got))
	}
	s.do(t, "104 map x")
	got := sent(slow)
	if len(got) != 102 || got[0] != "ADDED x@3" || got[100] != "MODIFIED x@103" || got[101] != "closed" {
		t.Errorf("the client that does not read got %d events: %q", len(got), got)
	}
	if got := sent(quick); !cmp.Equal(got, []string{"MODIFIED x@104"}) {
		t.Errorf("the client that reads got %q", got)
	}
	slow.Stop()
}

func TestBookmarks(t *testing.T) {
	s := newStore()
	s.do(t, "2 pod p n1 x", "3 map x")
	// The stream of pods reports its progress when it is asked.
	s.pods.Begin(func(context.Context) error {
		s.pods.Progress(9)
		return nil
	})
	s.do(t, "9 map unused")
	w := s.watch(t, selection.Request{Node: "n1", Initial: true, Bookmarks: true, EndOfInitial: true})
	plain := s.watch(t, selection.Request{Node: "n1", Initial: true})
	s.Bookmark(t.Context(), "configmaps")
	want := []string{"ADDED x@3", "BOOKMARK @2", "BOOKMARK @9"}
	if diff := cmp.Diff(want, sent(w)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:1], sent(plain)); diff != "" {
		t.Errorf("without bookmarks (-want +got):\n%s", diff)
	}
}

// TestReplace checks the events after a stream was interrupted and lists all objects again.
func TestReplace(t *testing.T) {
	s := newStore()
	s.do(t, "2 pod p n1 same changed gone anew fixed", "3 pod q n1 lost", "4 map same", "5 map changed",
		"6 map gone", "7 map anew", "8 map fixed", "9 map lost", "9")
	w := s.watch(t, selection.Request{Node: "n1"})
	anew, fixed := configMap("anew", 12), configMap("fixed", 13)
	anew.UID, fixed.Immutable = "new", new(true)
	s.objects.Replace([]runtime.Object{
		configMap("same", 4), configMap("changed", 11), configMap("lost", 9), anew, fixed,
	}, 20)
	want := []string{"MODIFIED changed@11", "DELETED anew@20", "ADDED anew@12", "DELETED fixed@20", "DELETED gone@20"}
	if diff := cmp.Diff(want, sent(w)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	s.pods.Replace([]runtime.Object{pod("p", "n1", "same", "changed"), pod("r", "n2", "lost")}, 21)
	want = []string{"DELETED anew@12", "DELETED lost@9"}
	if diff := cmp.Diff(want, sent(w)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

// TestReplacedObject checks the two events for a write that replaces an object. A client that resumes between them gets both, and one that
// has got both gets neither again.
func TestReplacedObject(t *testing.T) {
	s := newStore()
	s.do(t, "2 pod p n1 x", "3 map x", "4")
	w := s.watch(t, selection.Request{Node: "n1"})
	other := configMap("x", 9)
	other.UID = "new"
	s.objects.Change(watch.Modified, other, 9)
	s.do(t, "9")
	want := []string{"DELETED x@8", "ADDED x@9"}
	for name, events := range map[string]watch.Interface{
		"open": w, "resumed between them": s.watch(t, selection.Request{Node: "n1", Version: 8}),
	} {
		if diff := cmp.Diff(want, sent(events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := sent(s.watch(t, selection.Request{Node: "n1", Version: 9})); len(got) > 0 {
		t.Errorf("resumed behind both: %v", got)
	}
}

// TestReplaceResumed checks that a client which loses its connection between two events of a list that shows several changes gets the others
// when it resumes.
func TestReplaceResumed(t *testing.T) {
	for _, first := range []string{"objects", "pods"} {
		for read := range 7 {
			s := newStore()
			s.do(t, "2 pod p n1 a b c d e", "3 map a", "4 map b", "5 map c", "6")
			state := view{"a": true, "b": true, "c": true}
			w := s.watch(t, selection.Request{Node: "n1"})
			anew := configMap("c", 8)
			anew.UID = "new"
			objects := func() { s.objects.Replace([]runtime.Object{anew, configMap("d", 10), configMap("e", 9)}, 10) }
			pods := func() { s.pods.Replace([]runtime.Object{pod("q", "n1", "c", "d")}, 10) }
			if first == "pods" {
				objects, pods = pods, objects
			}
			objects()
			pods()
			version := uint64(6)
			for range min(read, len(w.ResultChan())) {
				version = state.apply(t, describe(<-w.ResultChan()))
			}
			w.Stop()
			state.follow(t, s.watch(t, selection.Request{Node: "n1", Version: version}), version)
			if want := (view{"a": false, "b": false, "c": true, "d": true, "e": false}); !cmp.Equal(state.existing(), want.existing()) {
				t.Errorf("%s first, resumed from %d after %d events: %v", first, version, read, state)
			}
		}
	}
}

// TestOldStateAgain checks that a client which gets an old state of an object again also gets the newer one again, which came when the stream of
// pods had reported the same revision as its progress.
func TestOldStateAgain(t *testing.T) {
	s := newStore()
	s.do(t, "2 pod p n1 x")
	s.pods.Progress(9)
	s.do(t, "3 map x", "9 map x")
	items, version, err := s.List(t.Context(), "configmaps", selection.Request{Node: "n1"})
	if err != nil || version != 9 || len(items) != 1 || items[0].GetResourceVersion() != "9" {
		t.Fatal(items, version, err)
	}
	got := sent(s.watch(t, selection.Request{Node: "n1", Version: version}))
	if want := []string{"ADDED x@3", "MODIFIED x@9"}; len(got) > 0 && !cmp.Equal(got, want) {
		t.Errorf("events %q, want none or %q", got, want)
	}
}
