package garbage

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// feed passes the stored objects of a kind to its monitor: first a list, then all changes that
// are newer.
type feed struct {
	monitor *monitor

	mu sync.Mutex
	// attempt numbers the lists. A list that ends after the next one has begun is ignored.
	attempt int
	// listed says that the monitor has a list, and revision is its revision. Before that, the
	// changes wait in pending.
	listed   bool
	revision int64
	pending  []Change
	// uids are the UIDs of the objects, which a deletion does not tell.
	uids map[objectName]types.UID
	// stopped says that the monitor gets nothing more.
	stopped bool
}

type objectName struct{ namespace, name string }

// begin makes changes wait for a new list, and returns the number of that list.
func (f *feed) begin() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attempt++
	f.listed, f.pending = false, nil
	return f.attempt
}

// fail records the reason that the changes of the kind cannot be read.
func (f *feed) fail(ctx context.Context, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.stopped {
		f.monitor.setFailed(ctx, err)
	}
}

// list reads the objects until it succeeds, or until the next list begins.
func (f *feed) list(ctx context.Context, stored *storedKinds, attempt int) {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		if !f.isCurrent(attempt) {
			return
		}
		list, err := stored.list(ctx, f.monitor.kind.GroupResource())
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
func (f *feed) isCurrent(attempt int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || f.attempt != attempt {
		return false
	}
	f.pending = nil
	return true
}

// replace passes a list to the monitor, and the changes that waited for it.
func (f *feed) replace(attempt int, list List) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || f.attempt != attempt {
		return
	}
	f.uids = make(map[objectName]types.UID, len(list.Items))
	objects := make([]*object, 0, len(list.Items))
	for i := range list.Items {
		item := &list.Items[i]
		f.uids[objectName{item.Namespace, item.Name}] = item.UID
		objects = append(objects, newObject(f.monitor.kind, item))
	}
	f.monitor.replace(objects)
	f.listed, f.revision = true, list.Revision
	for _, change := range f.pending {
		f.apply(change)
	}
	f.pending = nil
}

// change passes a change to the monitor. It returns false if the objects must be listed again.
func (f *feed) change(change Change) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.stopped:
	case change.Err != nil:
		f.monitor.setFailed(context.Background(), change.Err)
		return false
	case !f.listed:
		f.pending = append(f.pending, change)
	default:
		f.apply(change)
	}
	return true
}

// apply passes a change to the monitor unless the list had it. The caller holds the lock.
func (f *feed) apply(change Change) {
	if change.Revision <= f.revision {
		return
	}
	name := objectName{change.Object.Namespace, change.Object.Name}
	if !change.Deleted {
		f.uids[name] = change.Object.UID
		f.monitor.graph.observe(newObject(f.monitor.kind, &change.Object))
		return
	}
	if uid, ok := f.uids[name]; ok {
		delete(f.uids, name)
		f.monitor.graph.deleted(uid)
	}
}

func (f *feed) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
}
