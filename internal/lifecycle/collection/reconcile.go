package collection

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/reconcile"
	"holdfast.dev/holdfast/internal/series"
)

// reconcile handles a key of the queue.
func (c *controller) reconcile(ctx context.Context, k key) (reconcile.Result, error) {
	switch {
	case k.name != "":
		after, err := c.reconcileObject(ctx, k)
		return reconcile.Result{After: after}, err
	case k.series != "":
		for _, older := range c.members.takeOlder(k, c.keepLast) {
			c.loop.Add(older)
		}
	default:
		return reconcile.Result{}, c.reconcileNamespace(k.namespace)
	}
	return reconcile.Result{}, nil
}

// reconcileNamespace enqueues the objects of a namespace whose label or annotations have changed.
func (c *controller) reconcileNamespace(namespace string) error {
	for _, informer := range c.objects {
		found, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
		if err != nil {
			return fmt.Errorf("objects of namespace %s: %w", namespace, err)
		}
		for _, obj := range found {
			if o, ok := obj.(*object); ok && (o.isRelevant() || o.marked) {
				c.loop.Add(o.key())
			}
		}
	}
	return nil
}

// find returns an object and its namespace. ok is false if one of them is gone.
func (c *controller) find(k key) (o, namespace *object, ok bool) {
	obj, exists, err := c.objects[k.kind].GetStore().GetByKey(k.namespace + "/" + k.name)
	if err != nil || !exists {
		return nil, nil, false
	}
	found, exists, err := c.namespaces.GetStore().GetByKey(k.namespace)
	if err != nil || !exists {
		return nil, nil, false
	}
	o, ok = obj.(*object)
	namespace, also := found.(*object)
	return o, namespace, ok && also
}

// keepLast returns how many members of its series are kept for the sake of an object.
func (c *controller) keepLast(k key) int {
	o, namespace, ok := c.find(k)
	if !ok {
		return 0
	}
	found, err := settingsOf(o, namespace, c.AtLeast)
	if err != nil {
		return 0 // the object is looked at again
	}
	return found.keepLast
}

// reconcileObject marks an object, removes its mark, or deletes it. It returns after which time to look at it again.
func (c *controller) reconcileObject(ctx context.Context, k key) (time.Duration, error) {
	o, namespace, ok := c.find(k)
	if !ok || o.DeletionTimestamp != nil {
		c.forget(k)
		return 0, nil
	}
	if !o.isRelevant() && !o.marked {
		c.forget(k)
		return 0, nil
	}
	st := c.stateOf(o)
	if st.isOutdated(o) {
		return 0, nil // the informer will enqueue the object
	}
	if forged := c.checkMark(o, st); forged {
		return 0, c.write(ctx, o, st, map[string]any{series.UnusedSinceAnnotation: nil})
	}
	if why := exempt(o, namespace); why != "" {
		return c.leave(ctx, o, st, why)
	}
	if recreated, err := c.isRecreated(ctx, o); err != nil || recreated {
		return 0, err
	}
	found, err := settingsOf(o, namespace, c.AtLeast)
	if err != nil {
		return c.reject(ctx, o, st, err)
	}
	since, unused := c.Index.Unused(o.kind, o.Namespace, o.Name)
	if why := c.Index.Incomplete(o.Namespace); why != "" {
		return c.await(o, st, found.after, gap{why, since, unused}), nil
	}
	if !unused {
		return c.leave(ctx, o, st, referenced)
	}
	now := c.Clock.Now()
	start := c.start(since, st)
	if due := start.Add(found.after); now.Before(due) {
		if !st.marked.IsZero() {
			if _, err := c.unmark(ctx, o, st, fmt.Sprintf("it stays until no object has referred to it for %s", found.after)); err != nil {
				return 0, err
			}
		}
		c.settle(o, st)
		return due.Sub(now), nil
	}
	if c.members.isAmong(found.keepLast, o) {
		c.members.keep(o, true)
		// A member that is newer may have gone between the two calls.
		if c.members.isAmong(found.keepLast, o) {
			return c.leave(ctx, o, st, amongNewest(found.keepLast))
		}
	}
	c.members.keep(o, false)
	if st.marked.IsZero() {
		return c.mark(ctx, o, st, start)
	}
	if due := st.marked.Add(c.AtLeast); now.Before(due) {
		return due.Sub(now), nil
	}
	return c.collect(ctx, o, st)
}

// referenced is why an object is left that another one refers to.
const referenced = "an object refers to it"

// checkMark compares the mark of an object with the mark that the controller remembers. If a client changed or removed it, the time begins
// again. forged is true if the managed fields attribute a mark to this controller that it did not write.
func (c *controller) checkMark(o *object, st *state) (forged bool) {
	if !st.marked.IsZero() && o.marked && o.Annotations[series.UnusedSinceAnnotation] == st.since {
		return false
	}
	if !st.marked.IsZero() || o.marked {
		st.restarted = c.Clock.Now()
	}
	st.marked, st.since, st.inherited = time.Time{}, "", false
	return o.marked
}

// start returns from when the time of an object counts. since is what the index says.
func (c *controller) start(since time.Time, st *state) time.Time {
	switch {
	case st.inherited:
		// After the start of a process, the index is younger than the mark. If it says a later time than at first, an object has referred to this
		// one meanwhile.
		if st.counted.IsZero() {
			st.counted = since
		}
		if marked, err := time.Parse(time.RFC3339, st.since); err == nil && !since.After(st.counted) {
			return marked
		}
	case !st.marked.IsZero() && !since.After(st.counted):
		return st.counted
	}
	for _, at := range []time.Time{c.began, st.restarted} {
		if since.Before(at) {
			since = at
		}
	}
	return since
}

// leave leaves an object alone, and removes its mark.
func (c *controller) leave(ctx context.Context, o *object, st *state, why string) (time.Duration, error) {
	c.settle(o, st)
	if st.marked.IsZero() {
		return 0, nil
	}
	return c.unmark(ctx, o, st, why)
}

// settle records that an object does not wait.
func (c *controller) settle(o *object, st *state) {
	c.setWaiting(o.key(), "")
	st.told, st.refusals = "", 0
}

// reject leaves an object alone whose annotations cannot be read.
func (c *controller) reject(ctx context.Context, o *object, st *state, err error) (time.Duration, error) {
	if !st.marked.IsZero() {
		return c.unmark(ctx, o, st, err.Error())
	}
	c.tell(o, st, invalid, reasonInvalid, "it is not deleted: "+err.Error())
	return 0, nil
}

// gap says why the references to an object are not all known, and what is known of it.
type gap struct {
	why    string
	since  time.Time
	unused bool
}

// await lets an object wait until all references in its namespace are known. It is told in an Event when the object would be marked or deleted.
func (c *controller) await(o *object, st *state, after time.Duration, g gap) time.Duration {
	var due time.Time
	switch {
	case !st.marked.IsZero():
		due = st.marked.Add(c.AtLeast)
	case g.unused:
		due = c.start(g.since, st).Add(after)
	default:
		c.setWaiting(o.key(), unknown)
		return c.untilKnown(o)
	}
	if wait := due.Sub(c.Clock.Now()); wait > 0 {
		return wait
	}
	c.tell(o, st, incomplete, reasonWaits, "it is not deleted while not all references to it are known: "+g.why)
	return c.untilKnown(o)
}

// untilKnown returns after which time to look again at an object that waits for all references to be known. The index says once when they
// are, and may have said so just before the object began to wait. Then the controller looks again by itself.
func (c *controller) untilKnown(o *object) time.Duration {
	if c.Index.Incomplete(o.Namespace) == "" {
		return turn
	}
	return 0
}
