package selection_test

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// simSent is a state of an object that a watch has sent. uid is empty if the watch has sent that the object was deleted.
type simSent struct {
	version uint64
	uid     types.UID
}

// checkHeld checks that a client which has read all events of its watch has the objects that follow from the revisions of the streams.
func (c *simClient) checkHeld() {
	pods, objects := c.sim.server.observers["pods"].version, c.sim.server.observers[c.resource].version
	want := usedBy(c.sim.etcd.at("pods", pods), c.sim.etcd.at(c.resource, objects), c.resource, c.node)
	if c.initial == nil && !maps.Equal(c.held, want) {
		c.sim.fail("%s has read all events and has %v; want %v, as of %d and %d", c, c.held, want, pods, objects)
	}
}

// checkState checks an object that was added or modified: it was stored like this, it is not immutable, and one watch sends neither an older
// state after a newer one, nor another object of the name before it has sent that the first was deleted.
func (c *simClient) checkState(name cache.ObjectName, version uint64, got metav1.Object) {
	stored := c.sim.etcd.at(c.resource, version)[name]
	if stored == nil || stored.GetResourceVersion() != got.GetResourceVersion() || stored.GetUID() != got.GetUID() || isFixed(stored) {
		c.sim.fail("%s gets %s at %d, which was not stored like this", c, name, version)
	}
	switch last := c.newest[name]; {
	case version < last.version:
		c.sim.fail("%s gets %s at %d after the state at %d", c, name, version, last.version)
	case last.uid != "" && last.uid != got.GetUID():
		c.sim.fail("%s gets %s with the UID %s in place of %s, which was not deleted", c, name, got.GetUID(), last.uid)
	}
	c.newest[name] = simSent{version, got.GetUID()}
}

// settle reads everything. It says what is wrong if the client does not come to rest, or does not have the objects that it should.
func (c *simClient) settle() {
	for range 10 {
		if c.watch == nil {
			c.connect(c.sim.etcd.revision, false)
		}
		for len(c.read(5000)) > 0 {
		}
		if c.watch != nil {
			break
		}
	}
	want := usedBy(c.sim.etcd.now("pods"), c.sim.etcd.now(c.resource), c.resource, c.node)
	switch {
	case c.watch == nil:
		c.sim.fail("%s has no watch", c)
	case !maps.Equal(c.held, want):
		c.sim.fail("%s has %v, want %v", c, c.held, want)
	}
}
