package selection_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	observing "holdfast.dev/holdfast/internal/apiserver/storage"
)

// simReader reads one resource of etcd as a watch cache does, through the storage that shows it to the observers. It is itself the storage
// below that one.
type simReader struct {
	storage.Interface
	sim      *sim
	resource string
	observed storage.Interface
	// current is the watch that the reader reads, nil if it has broken. old are watches that are being stopped and may still have events.
	current *simWatch
	old     []*simWatch
	// read is the revision that the reader has reached, zero if it must list.
	read uint64
	// listed is the answer to a list request that is on its way, as of the revision listedAt. page is the number of its pages that have arrived.
	listed   []runtime.Object
	listedAt uint64
	page     int
}

func newSimReader(s *sim, resource string, o observing.Observer) *simReader {
	r := &simReader{sim: s, resource: resource}
	r.observed = observing.NewObserved(r, o)
	return r
}

// open begins a watch, behind the revision that the reader has reached, or with all objects.
func (r *simReader) open(initial bool) string {
	options, how := storage.ListOptions{ResourceVersion: strconv.FormatUint(r.read, 10)}, "resumes"
	if initial {
		options, how = storage.ListOptions{SendInitialEvents: new(true)}, "streams"
	}
	relayed, err := r.observed.Watch(r.sim.ctx, r.resource, options)
	if err != nil {
		r.read = 0
		return fmt.Sprintf("cannot resume %s: %v", r.resource, err)
	}
	w := r.current
	w.relayed = relayed
	go func() {
		for event := range relayed.ResultChan() {
			r.receive(w, event)
		}
	}()
	return how + " " + r.resource + " from " + options.ResourceVersion
}

// receive takes note of what the watch cache gets.
func (r *simReader) receive(w *simWatch, event watch.Event) {
	accessor, err := meta.Accessor(event.Object)
	if event.Type == watch.Error || err != nil {
		w.failed = true
		return
	}
	if event.Type == watch.Bookmark && accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "" {
		w.initial = false
	}
	if r.current == w && !w.initial {
		r.read, _ = strconv.ParseUint(accessor.GetResourceVersion(), 10, 64)
	}
}

// deliver delivers events of a watch.
func (r *simReader) deliver(w *simWatch, count int) string {
	for count = min(count, len(w.queue)); count > 0 && !w.stopped; count-- {
		var event watch.Event
		event, w.queue = w.queue[0], w.queue[1:]
		w.result <- event
		synctest.Wait()
	}
	return fmt.Sprintf("delivers %s up to %d", r.resource, r.read)
}

// stop stops the watches that have broken.
func (r *simReader) stop() string {
	for _, w := range r.old {
		w.relayed.Stop()
	}
	log := r.sim.etcd.logs[r.resource]
	log.watches = slices.DeleteFunc(log.watches, func(w *simWatch) bool { return slices.Contains(r.old, w) })
	r.old = nil
	synctest.Wait()
	return "stops the old watches of " + r.resource
}

// breakWatch breaks the watch. Events that are on their way may still arrive until it is stopped.
func (r *simReader) breakWatch() string {
	r.old, r.current = append(r.old, r.current), nil
	return "breaks the watch of " + r.resource
}

// step takes a step of the reader.
func (r *simReader) step(random *rand.Rand) string {
	n := random.IntN(12)
	switch {
	case r.current == nil && random.IntN(2) == 0:
		return "" // etcd cannot be reached for some time
	case n == 0 && len(r.old) > 0:
		return r.stop()
	case n < 3 && len(r.old) > 0:
		w := r.old[random.IntN(len(r.old))]
		return "late: " + r.deliver(w, 1+random.IntN(4))
	case r.current == nil:
		return r.connect(n)
	case n == 3 && random.IntN(3) == 0, r.current.failed:
		return r.breakWatch()
	case n == 4:
		_ = r.RequestWatchProgress(r.sim.ctx)
		return "asks for the progress of " + r.resource
	case len(r.current.queue) == 0:
		return ""
	case n < 6:
		return r.deliver(r.current, len(r.current.queue))
	}
	return r.deliver(r.current, 1+random.IntN(3))
}

// connect continues to list, or begins a list or a watch.
func (r *simReader) connect(n int) string {
	switch {
	case r.listedAt != 0 && n == 0:
		r.listed, r.listedAt, r.page = nil, 0, 0
		return "fails: the list of " + r.resource + " is incomplete"
	case r.listedAt != 0:
		return r.list()
	case r.read != 0 && n < 7:
		return r.open(false)
	case n%2 == 0:
		return r.open(true)
	}
	r.listedAt = r.sim.etcd.revision
	for _, obj := range sorted(r.sim.etcd.now(r.resource)) {
		r.listed = append(r.listed, obj)
	}
	return fmt.Sprintf("lists %s at %d", r.resource, r.listedAt)
}

// list receives the next page of a list.
func (r *simReader) list() string {
	options, list := storage.ListOptions{}, map[string]runtime.Object{
		"pods": &corev1.PodList{}, "configmaps": &corev1.ConfigMapList{}, "secrets": &corev1.SecretList{},
	}[r.resource]
	if r.page > 0 {
		options.Predicate.Continue = "more"
	}
	if err := r.observed.GetList(r.sim.ctx, r.resource, options, list); err != nil {
		panic(err)
	}
	text := fmt.Sprintf("receives page %d of %s at %d", r.page, r.resource, r.listedAt)
	if r.page++; r.page == 2 {
		r.read, r.listed, r.listedAt, r.page = r.listedAt, nil, 0, 0
	}
	return text
}

// settle reads everything.
func (r *simReader) settle() {
	for r.listedAt != 0 {
		r.list()
	}
	if r.current != nil && r.current.failed {
		r.breakWatch()
	}
	r.stop()
	for r.current == nil {
		r.open(r.read == 0)
	}
	_ = r.RequestWatchProgress(r.sim.ctx)
	r.deliver(r.current, len(r.current.queue))
}
