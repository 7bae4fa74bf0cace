package storage

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// relay is a watch that sends the events of another watch, after a function has seen or changed
// them.
type relay struct {
	inner   watch.Interface
	change  func(watch.Event) watch.Event
	result  chan watch.Event
	stopped chan struct{}
	stop    func()
}

// newRelay starts a relay. It ends when inner ends, or when the caller stops it.
func newRelay(inner watch.Interface, change func(watch.Event) watch.Event) *relay {
	r := &relay{inner: inner, change: change, result: make(chan watch.Event), stopped: make(chan struct{})}
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

func (r *relay) run() {
	defer close(r.result)
	for event := range r.inner.ResultChan() {
		select {
		case r.result <- r.change(event):
		case <-r.stopped:
			return
		}
	}
}
