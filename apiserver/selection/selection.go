package selection

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/access/node"
	"holdfast.dev/holdfast/broadcast"
)

// Kind is a kind of objects to select from.
type Kind struct {
	// Resource is the name that a node's index has for the kind, "secrets".
	Resource string
	// New returns an empty object.
	New func() Object
	// Fixed reports whether an object cannot change any more.
	Fixed func(obj Object) bool
}

// Object is what objects of all kinds have.
type Object interface {
	runtime.Object
	metav1.Object
}

// Selection is what every node uses. Its streams are to be fed before it
// answers.
type Selection struct {
	mu    sync.Mutex
	index *node.Index
	pods  stream
	kinds map[string]*selected
	// moved is sent when a stream moves on.
	moved broadcast.Signal
}

// selected is what is selected from one kind.
type selected struct {
	Kind
	stream
	// objects are those that may change, by namespace and name.
	objects map[cache.ObjectName]Object
	// watches are by node.
	watches map[string]map[*watcher]struct{}
	history history
	// asked is when storage was last asked how far it is.
	asked time.Time
}

// New returns a selection over the kinds that keeps the index, which nobody
// else may change.
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

// entry adds an event to the history of a kind and tells the watches of its
// nodes. It is called with the lock held, after the stream that caused it moved
// on.
func (s *Selection) entry(k *selected, e entry) {
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

// synced begins the history of a kind when both its streams are known.
func (s *Selection) synced(k *selected) {
	if k.history.begun || !s.pods.known || !k.known {
		return
	}
	k.history.begun, k.history.horizon = true, max(s.pods.version, k.version)
}
