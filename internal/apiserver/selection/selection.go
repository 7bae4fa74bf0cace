package selection

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/broadcast"
)

// Kind is a kind of objects in a selection.
type Kind struct {
	// Resource is the name of the kind in node.Index, such as "secrets".
	Resource string
	// New returns an empty object.
	New func() Object
	// Fixed reports whether an object is immutable.
	Fixed func(obj Object) bool
}

// Object is an object of any kind.
type Object interface {
	runtime.Object
	metav1.Object
}

// Selection holds the objects that every node uses. Requests wait until its streams have been
// filled once.
type Selection struct {
	mu    sync.Mutex
	index *node.Index
	pods  stream
	kinds map[string]*selected
	// advanced is sent when a stream advances.
	advanced broadcast.Signal
}

// selected is the selection of one kind.
type selected struct {
	Kind
	stream
	// objects are all objects that are not fixed.
	objects map[cache.ObjectName]Object
	// watches are the open watches, by node.
	watches map[string]map[*watcher]struct{}
	history history
	// asked is the time of the last request to storage for its progress.
	asked time.Time
}

// New returns a selection of kinds. It takes over the index: no other code may change it.
func New(index *node.Index, kinds ...Kind) *Selection {
	s := &Selection{index: index, kinds: map[string]*selected{}}
	for _, kind := range kinds {
		s.kinds[kind.Resource] = &selected{
			Kind:    kind,
			objects: map[cache.ObjectName]Object{},
			watches: map[string]map[*watcher]struct{}{},
		}
	}
	return s
}

// addEntry adds an event to the history of a kind and sends it to the watches of its nodes. The
// caller holds the lock, and has advanced the stream that caused the event.
func (s *Selection) addEntry(k *selected, e entry) {
	if len(e.nodes) == 0 {
		return
	}
	e.mark = max(s.pods.version, k.version)
	k.history.add(e)
	event := e.shared()
	for _, name := range e.nodes {
		for w := range k.watches[name] {
			k.send(w, event)
		}
	}
}

// synced begins the history of a kind when both its streams are known. No watch needs the entries of
// the first lists. The caller holds the lock.
func (s *Selection) synced(k *selected) {
	if k.history.begun || !s.pods.known || !k.known {
		return
	}
	k.history = history{begun: true, horizon: max(s.pods.version, k.version)}
}
