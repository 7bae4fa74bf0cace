package garbage

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// newFeed returns a feed with a graph of its own.
func newFeed() *feed {
	k := &kind{GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "boats"}, kind: "Boat"}
	return &feed{monitor: &monitor{kind: k, graph: newGraph(func(types.UID) {}, noCounter{}), listed: make(chan struct{})}}
}

// objects returns the names and UIDs in the graph: a=1 b=2.
func (f *feed) objects() string {
	var found []string
	for uid, o := range f.monitor.graph.objects {
		found = append(found, o.name+"="+string(uid))
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

// boat returns the metadata of an object, given as name=uid.
func boat(text string) metav1.PartialObjectMetadata {
	name, uid, _ := strings.Cut(text, "=")
	return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
}

func listOf(revision int64, boats ...string) List {
	list := List{Revision: revision}
	for _, text := range boats {
		list.Items = append(list.Items, boat(text))
	}
	return list
}

// TestFeed passes a list and changes to a feed. A change is a write of an object with its UID, a=1,
// or a deletion, -a.
func TestFeed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// before and after are changes before and after the list, with the revisions 1, 2 and so on.
		before, after []string
		list          List
		want          string
	}{
		"list":                  {list: listOf(5, "a=1", "b=2"), want: "a=1 b=2"},
		"older changes":         {before: []string{"a=0", "-b"}, list: listOf(2, "a=1", "b=2"), want: "a=1 b=2"},
		"newer changes waited":  {before: []string{"a=0", "-b", "c=3"}, list: listOf(1, "a=1", "b=2"), want: "a=1 c=3"},
		"newer changes":         {list: listOf(0, "a=1"), after: []string{"b=2", "-a"}, want: "b=2"},
		"deleted and created":   {list: listOf(0, "a=1"), after: []string{"-a", "a=2"}, want: "a=2"},
		"created in the list":   {before: []string{"-a", "a=2"}, list: listOf(2, "a=2"), want: "a=2"},
		"deletion of the other": {list: listOf(0, "a=1"), after: []string{"-b"}, want: "a=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFeed()
			attempt := f.begin()
			revision := int64(0)
			change := func(text string) {
				revision++
				deleted := strings.HasPrefix(text, "-")
				f.change(Change{Object: boat(strings.TrimPrefix(text, "-")), Deleted: deleted, Revision: revision})
			}
			for _, text := range test.before {
				change(text)
			}
			if f.monitor.isListed() {
				t.Error("listed before the list")
			}
			f.replace(attempt, test.list)
			for _, text := range test.after {
				change(text)
			}
			if got := f.objects(); got != test.want {
				t.Errorf("objects %q, want %q", got, test.want)
			}
			if !f.monitor.isListed() {
				t.Error("not listed after the list")
			}
		})
	}
}

// TestFeedListsAgain checks what happens to a list that is under way when the next one begins, and
// to a change that cannot be read.
func TestFeedListsAgain(t *testing.T) {
	t.Parallel()
	f := newFeed()
	first := f.begin()
	second := f.begin()
	f.replace(first, listOf(1, "stale=1"))
	if got := f.objects(); got != "" || f.isCurrent(first) {
		t.Errorf("an outdated list was used: %s", got)
	}
	f.replace(second, listOf(2, "a=1"))

	if f.change(Change{Object: boat("a"), Revision: 3, Err: errors.New("no key")}) {
		t.Error("a change that cannot be read needs no new list")
	}
	if f.monitor.failure() == nil {
		t.Error("a change that cannot be read is no failure")
	}
	third := f.begin()
	f.change(Change{Object: boat("b=2"), Revision: 4})
	f.fail(t.Context(), errors.New("still no key"))
	if !f.isCurrent(third) || len(f.pending) > 0 {
		t.Error("changes before a list keep waiting")
	}
	f.replace(third, listOf(5, "a=1", "b=2"))
	if got := f.objects(); got != "a=1 b=2" || f.monitor.failure() != nil {
		t.Errorf("after the list: %s, failure %v", got, f.monitor.failure())
	}

	f.stop()
	f.change(Change{Object: boat("c=3"), Revision: 6})
	f.replace(third, listOf(7))
	if got := f.objects(); got != "a=1 b=2" {
		t.Errorf("a stopped feed changed the graph: %s", got)
	}
}
