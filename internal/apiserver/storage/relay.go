package storage

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// relay is a watch that sends the events of another watch, after a function has seen or changed
// them.
type relay struct {
	inner   watch.Interface
	change  func(watch.Event) watch.Event
	result  chan watch.Event
	broken  chan *metav1.Status
	stopped chan struct{}
	stop    func()
}

// newRelay starts a relay. It ends when inner ends, or when the caller stops it.
func newRelay(inner watch.Interface, change func(watch.Event) watch.Event) *relay {
	r := &relay{
		inner: inner, change: change, result: make(chan watch.Event), broken: make(chan *metav1.Status, 1), stopped: make(chan struct{}),
	}
	r.stop = sync.OnceFunc(func() {
		close(r.stopped)
		inner.Stop()
	})
	go r.run()
	return r
}

// ResultChan implements watch.Interface.
func (r *relay) ResultChan() <-chan watch.Event { return r.result }

// Stop implements watch.Interface.
func (r *relay) Stop() { r.stop() }

// fail ends the relay with an error. Its reader then stops it.
func (r *relay) fail(status *metav1.Status) {
	select {
	case r.broken <- status:
	default: // it has failed before
	}
}

func (r *relay) run() {
	defer close(r.result)
	for {
		var event watch.Event
		select {
		case next, ok := <-r.inner.ResultChan():
			if !ok {
				return
			}
			event = r.change(next)
		case status := <-r.broken:
			r.send(watch.Event{Type: watch.Error, Object: status})
			return
		case <-r.stopped:
			return
		}
		if !r.send(event) {
			return
		}
	}
}

// send returns false if the relay was stopped.
func (r *relay) send(event watch.Event) bool {
	select {
	case r.result <- event:
		return true
	case <-r.stopped:
		return false
	}
}
