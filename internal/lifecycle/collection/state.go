package collection

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"holdfast.dev/holdfast/internal/series"
)

// state is what the controller remembers of an object. Only the worker that has the key of the object uses it.
type state struct {
	uid types.UID
	// restarted is when a client removed the mark, so that the time began again.
	restarted time.Time
	// marked is when the object was marked, zero if it is not. An earlier leader may have marked it: then it is the start of this one.
	marked time.Time
	// counted is from when the time counted when the object was marked. For a mark of an earlier leader, it is what the index said first.
	counted time.Time
	// inherited says that an earlier leader set the mark.
	inherited bool
	// since is the value of the mark.
	since string
	// version is the resourceVersion after the last write of the controller.
	version string
	// told is the last Event about an object that waits, so that it is not repeated.
	told string
	// refusals counts how often the server has refused a write.
	refusals int
}

// stateOf returns the state of an object. It is empty for another object of the same name.
func (c *controller) stateOf(o *object) *state {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.states[o.key()]
	if st == nil || st.uid != o.UID {
		st = &state{uid: o.UID}
		c.states[o.key()] = st
	}
	return st
}

// forget drops the state of an object.
func (c *controller) forget(k key) {
	c.setWaiting(k, "")
	c.memory.end(k)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.states, k)
}

// takeOver records the mark of an earlier leader, of an object that this leader reads first.
func (c *controller) takeOver(o *object) {
	st := c.stateOf(o)
	st.marked, st.since, st.inherited = c.Clock.Now(), o.Annotations[series.UnusedSinceAnnotation], true
}

// isOutdated reports whether the informer has not seen the last write of the controller yet.
func (st *state) isOutdated(o *object) bool {
	if st.version == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(o.ResourceVersion, st.version)
	return err == nil && order < 0
}

// setWaiting records the reason for which an object is not deleted, empty for none.
func (c *controller) setWaiting(k key, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.waiting[k]
	if before == reason {
		return
	}
	c.Metrics.count(before, -1)
	c.Metrics.count(reason, 1)
	if reason == "" {
		delete(c.waiting, k)
	} else {
		c.waiting[k] = reason
	}
}

// wakeIncomplete enqueues the objects whose references were not all known, those of a namespace or all.
func (c *controller) wakeIncomplete(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, why := range c.waiting {
		if (why == incomplete || why == unknown) && (namespace == "" || namespace == k.namespace) {
			c.loop.Add(k)
		}
	}
}
