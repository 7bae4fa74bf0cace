package selection

import (
	"errors"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
)

// maxBehind is the number of unread events after which a watch is closed.
const maxBehind = 100

// watcher is one open watch. The lock of the selection is held for each send to its channel
// and when the channel is closed.
type watcher struct {
	s         *Selection
	k         *selected
	node      string
	namespace string
	bookmarks bool
	result    chan watch.Event
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface.
func (w *watcher) Stop() {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.k.close(w)
}

// open adds a watch and sends its first events.
func (k *selected) open(w *watcher, first []watch.Event) {
	w.result = make(chan watch.Event, len(first)+maxBehind)
	if k.watches[w.node] == nil {
		k.watches[w.node] = map[*watcher]struct{}{}
	}
	k.watches[w.node][w] = struct{}{}
	for _, event := range first {
		k.send(w, event)
	}
}

// Nodes returns the number of nodes that have a watch open.
func (s *Selection) Nodes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := map[string]struct{}{}
	for _, kind := range s.kinds {
		for name := range kind.watches {
			nodes[name] = struct{}{}
		}
	}
	return len(nodes)
}

// close closes a watch, unless it is closed already. Events that were sent can still be read.
func (k *selected) close(w *watcher) {
	if _, open := k.watches[w.node][w]; !open {
		return
	}
	delete(k.watches[w.node], w)
	if len(k.watches[w.node]) == 0 {
		delete(k.watches, w.node)
	}
	close(w.result)
}

// send sends an event to a watch, unless it is for another namespace. If the buffer of the
// watch is full, it closes the watch.
func (k *selected) send(w *watcher, event watch.Event) {
	if w.namespace != "" && event.Type != watch.Bookmark && event.Type != watch.Error {
		accessor, err := meta.Accessor(event.Object)
		if err != nil || accessor.GetNamespace() != w.namespace {
			return
		}
	}
	select {
	case w.result <- event:
	default:
		k.close(w)
	}
}

// bookmark returns a bookmark event with annotations.
func (k *selected) bookmark(version uint64, annotations map[string]string) watch.Event {
	obj := k.New()
	obj.SetResourceVersion(strconv.FormatUint(version, 10))
	obj.SetAnnotations(annotations)
	return watch.Event{Type: watch.Bookmark, Object: &shared{object: obj}}
}

// failed is a watch that sends one error event and ends.
type failed struct{ result chan watch.Event }

func newFailed(err error) watch.Interface {
	status := apierrors.NewInternalError(err).ErrStatus
	if answer := apierrors.APIStatus(nil); errors.As(err, &answer) {
		status = answer.Status()
	}
	f := failed{result: make(chan watch.Event, 1)}
	f.result <- watch.Event{Type: watch.Error, Object: &status}
	close(f.result)
	return f
}

// ResultChan implements watch.Interface.
func (f failed) ResultChan() <-chan watch.Event { return f.result }

// Stop implements watch.Interface.
func (f failed) Stop() {}
