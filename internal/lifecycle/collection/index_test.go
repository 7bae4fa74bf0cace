package collection_test

import (
	"context"
	"sync"
	"time"

	"holdfast.dev/holdfast/internal/references"
)

// named names an object.
type named struct {
	kind            references.Kind
	namespace, name string
}

// fakeIndex is an index that a test sets. Objects that it does not know are unused.
type fakeIndex struct {
	mu sync.Mutex
	// used has the objects that are referenced, and late those of which only the exact read knows it.
	used, late map[named]bool
	// before has functions that run once, after the exact read of an object and before its delete.
	before     map[named]func()
	since      map[named]time.Time
	created    time.Time
	incomplete string
	notify     map[int]func(references.Kind, string, string)
	next       int
}

func newFakeIndex(created time.Time) *fakeIndex {
	return &fakeIndex{
		used: map[named]bool{}, late: map[named]bool{}, before: map[named]func(){}, since: map[named]time.Time{}, created: created,
		notify: map[int]func(references.Kind, string, string){},
	}
}

func (i *fakeIndex) Unused(kind references.Kind, namespace, name string) (time.Time, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := named{kind, namespace, name}
	since, known := i.since[at]
	if !known {
		since = i.created
	}
	return since, !i.used[at]
}

func (i *fakeIndex) Incomplete(string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.incomplete
}

func (i *fakeIndex) Subscribe(notify func(references.Kind, string, string)) (stop func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	id := i.next
	i.next++
	i.notify[id] = notify
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.notify, id)
	}
}

func (i *fakeIndex) Unreferenced(ctx context.Context, kind references.Kind, namespace, name string) (context.Context, bool, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := named{kind, namespace, name}
	unreferenced := !i.used[at] && !i.late[at]
	if change := i.before[at]; change != nil {
		delete(i.before, at)
		i.mu.Unlock()
		change()
		i.mu.Lock()
	}
	return ctx, unreferenced, nil
}

// change changes the index and tells the subscribers of an object.
func (i *fakeIndex) change(at named, change func()) {
	i.mu.Lock()
	change()
	var subscribers []func(references.Kind, string, string)
	for _, notify := range i.notify {
		subscribers = append(subscribers, notify)
	}
	i.mu.Unlock()
	for _, notify := range subscribers {
		notify(at.kind, at.namespace, at.name)
	}
}

// use sets whether an object is referenced, now.
func (i *fakeIndex) use(at named, used bool, now time.Time) {
	i.change(at, func() { i.used[at], i.since[at] = used, now })
}

// subscribers returns the number of subscribers.
func (i *fakeIndex) subscribers() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.notify)
}
