package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/waittest"
)

// watcher watches all objects of a kind, from before the first fault to the end. When its watch ends,
// it resumes at the last version that it has seen. If the server answers 410, it lists again.
type watcher struct {
	*kind
	mutex sync.Mutex
	// objects are the names and versions of the objects, as the events tell them.
	objects map[string]uint64
	// seen are the versions of all events, with the names of the objects.
	seen map[uint64]string
	// skipped are the versions between the last event and the list that followed it.
	skipped [][2]uint64
	version uint64
	// resumed and listed count how the watch went on.
	resumed, listed int
	problems        []string
}

func newWatcher(k *kind) *watcher { return &watcher{kind: k, seen: map[uint64]string{}} }

// run watches until ctx ends.
func (w *watcher) run(ctx context.Context, current func() *client) {
	for ctx.Err() == nil {
		// The pause keeps a watcher of a dead server from taking all of the processor.
		if !w.follow(ctx, current()) {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// follow lists if needed, and watches until the watch ends. It reports whether the server answered.
func (w *watcher) follow(ctx context.Context, c *client) bool {
	if w.objects == nil && !w.list(ctx, c) {
		return false
	}
	path := fmt.Sprintf("%s?watch=true&allowWatchBookmarks=true&resourceVersion=%d", w.path, w.version)
	stream, err := c.rest.Get().RequestURI(path).MaxRetries(0).Stream(ctx)
	if err != nil {
		w.failed(classify(err).code)
		return false
	}
	defer func() { _ = stream.Close() }()
	w.mutex.Lock()
	w.resumed++
	w.mutex.Unlock()
	for decoder := json.NewDecoder(stream); ; {
		var event struct {
			Type   string
			Object map[string]any
		}
		if err := decoder.Decode(&event); err != nil {
			return true
		}
		if event.Type == "ERROR" {
			code, _ := event.Object["code"].(float64)
			w.failed(int(code))
			return true
		}
		w.take(event.Type, event.Object)
	}
}

// list reads all objects, and continues from there.
func (w *watcher) list(ctx context.Context, c *client) bool {
	list := c.get(ctx, w.path)
	if list.err != nil {
		return false
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if list.version() < w.version {
		w.problem("the list has version %d after an event with version %d", list.version(), w.version)
	}
	w.skipped = append(w.skipped, [2]uint64{w.version, list.version()})
	w.listed++
	w.version, w.objects = list.version(), map[string]uint64{}
	for _, object := range items(list.object) {
		w.objects[nameOf(object)] = versionOf(object)
	}
	return true
}

// failed handles an error of a watch. After 410, the watcher lists again.
func (w *watcher) failed(code int) {
	if code == http.StatusGone {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.objects = nil
	}
}

// take applies an event. The versions of events increase, and their types match the objects.
func (w *watcher) take(change string, object map[string]any) {
	name, version := nameOf(object), versionOf(object)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if change == "BOOKMARK" {
		w.version = max(w.version, version)
		return
	}
	if version <= w.version {
		w.problem("event %s of %s has version %d after version %d", change, name, version, w.version)
	}
	if _, exists := w.objects[name]; exists == (change == "ADDED") {
		w.problem("event %s of %s, which exists: %t", change, name, exists)
	}
	w.version, w.seen[version] = version, name
	if change == "DELETED" {
		delete(w.objects, name)
		return
	}
	w.objects[name] = version
}

func (w *watcher) problem(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// check compares the watcher with the server and the acknowledged writes, after the last write.
func (w *watcher) check(t *testing.T, c *client, acknowledged map[uint64]string) {
	t.Helper()
	waittest.Until(t, "the watch has shown all objects of "+w.resource, func() error { return w.matches(c.get(t.Context(), w.path)) })
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for version, name := range acknowledged {
		if w.seen[version] != name && !w.skips(version) {
			w.problem("no event for the acknowledged write of %s with version %d", name, version)
		}
	}
	if len(w.problems) > 0 {
		t.Errorf("watch of %s:\n%s", w.resource, strings.Join(w.problems, "\n"))
	}
}

// matches returns an error if the watcher has not the objects of the list.
func (w *watcher) matches(list answer) error {
	if list.err != nil {
		return list.err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	found := items(list.object)
	if len(found) != len(w.objects) {
		return fmt.Errorf("watch of %s: %d objects, the list has %d", w.resource, len(w.objects), len(found))
	}
	for _, object := range found {
		if w.objects[nameOf(object)] != versionOf(object) {
			return fmt.Errorf("watch of %s: %s has version %d, the list has %d",
				w.resource, nameOf(object), w.objects[nameOf(object)], versionOf(object))
		}
	}
	return nil
}

// skips reports whether a list replaced the event with this version.
func (w *watcher) skips(version uint64) bool {
	for _, gap := range w.skipped {
		if gap[0] < version && version <= gap[1] {
			return true
		}
	}
	return false
}
