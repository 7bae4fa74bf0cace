package stored

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// feed passes the stored objects of a kind to its receiver: first a list, then all changes that
// are newer.
type feed[T any] struct {
	resource schema.GroupResource
	receiver Receiver[T]

	mu sync.Mutex
	// attempt numbers the lists. A list that ends after the next one has begun is ignored.
	attempt int
	// listed says that the receiver has a list, and revision is its revision. Before that, the
	// changes wait in pending.
	listed   bool
	revision int64
	pending  []Change[T]
	// stopped says that the receiver gets nothing more.
	stopped bool
}

// begin makes changes wait for a new list, and returns the number of that list.
func (f *feed[T]) begin() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attempt++
	f.listed, f.pending = false, nil
	return f.attempt
}

// fail records the reason that the changes of the kind cannot be read.
func (f *feed[T]) fail(ctx context.Context, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.stopped {
		f.receiver.Fail(ctx, err)
	}
}

// list reads the objects until it succeeds, or until the next list begins.
func (f *feed[T]) list(ctx context.Context, watches *Watches[T], attempt int) {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		if !f.isCurrent(attempt) {
			return
		}
		list, err := watches.list(ctx, f.resource)
		if err == nil {
			f.replace(attempt, list)
			return
		}
		f.fail(ctx, err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// isCurrent reports whether the list with a number is still wanted. The list will include the
// changes that wait, so they are dropped.
func (f *feed[T]) isCurrent(attempt int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || f.attempt != attempt {
		return false
	}
	f.pending = nil
	return true
}

// replace passes a list to the receiver, and the changes that waited for it.
func (f *feed[T]) replace(attempt int, list List[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || f.attempt != attempt {
		return
	}
	f.receiver.Replace(list.Items)
	f.listed, f.revision = true, list.Revision
	for _, change := range f.pending {
		f.apply(change)
	}
	f.pending = nil
}

// change passes a change to the receiver. It returns false if the objects must be listed again.
func (f *feed[T]) change(change Change[T]) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.stopped:
	case change.Err != nil:
		f.receiver.Fail(context.Background(), change.Err)
		return false
	case !f.listed:
		f.pending = append(f.pending, change)
	default:
		f.apply(change)
	}
	return true
}

// apply passes a change to the receiver unless the list had it. The caller holds the lock.
func (f *feed[T]) apply(change Change[T]) {
	if change.Revision > f.revision {
		f.receiver.Change(change)
	}
}

func (f *feed[T]) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
}
