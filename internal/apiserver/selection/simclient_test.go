package selection_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/apiserver/selection"
)

// simClient is a node agent that collects the objects of one resource that its node uses. It works as a Reflector does: it lists and watches,
// resumes at the resourceVersion of its last event, and lists again after 410.
type simClient struct {
	sim            *sim
	node, resource string
	// held are the resourceVersions of the objects that the client has.
	held map[cache.ObjectName]string
	// version is that of the last event or list, zero if the client must list.
	version uint64
	watch   watch.Interface
	// initial are the first objects of a watch that has not sent all of them.
	initial map[cache.ObjectName]string
	// newest are the highest resourceVersion of each object in this watch, and its UID, and bookmarked is the version of the last bookmark.
	newest     map[cache.ObjectName]simSent
	bookmarked uint64
	// connected is the number of watches that the client has opened.
	connected int
}

// step takes a step of the client.
func (c *simClient) step(r *rand.Rand) string {
	if c.watch == nil {
		versions := []uint64{0, c.sim.etcd.revision}
		return c.connect(versions[r.IntN(2)], r.IntN(2) == 0)
	}
	if r.IntN(5) == 0 {
		c.disconnect()
		return fmt.Sprintf("disconnects %s at %d", c, c.version)
	}
	if r.IntN(3) == 0 && len(c.watch.ResultChan()) > 0 {
		got := c.read(1)
		c.disconnect()
		how := c.connect(c.sim.etcd.revision, false)
		return fmt.Sprintf("flaps: %s gets %q, %s, gets %q", c, got, how, c.read(5000))
	}
	count := 1 + r.IntN(2)
	if r.IntN(4) == 0 {
		count = 5000
	}
	if got := c.read(count); len(got) > 0 {
		return fmt.Sprintf("reads: %s gets %q", c, got)
	}
	return ""
}

func (c *simClient) String() string { return c.node + " " + c.resource }

// connect lists the objects, or watches them with or without those that exist.
func (c *simClient) connect(version uint64, stream bool) string {
	request := selection.Request{Node: c.node, Version: c.version, Bookmarks: true}
	switch {
	case c.version != 0:
		c.open(request, nil)
		return fmt.Sprintf("resumes %s from %d", c, c.version)
	case stream:
		request.Version, request.Initial, request.EndOfInitial = version, true, true
		c.open(request, map[cache.ObjectName]string{})
		return fmt.Sprintf("streams %s from %d", c, version)
	}
	request.Version = version
	items, at, err := c.sim.server.selection.List(c.sim.ctx, c.resource, request)
	if err != nil {
		return fmt.Sprintf("waits in vain for the list of %s at %d", c, version)
	}
	c.version, c.held = at, map[cache.ObjectName]string{}
	for _, item := range items {
		c.held[cache.MetaObjectToName(item)] = item.GetResourceVersion()
	}
	if at < version {
		c.sim.fail("the list of %s from %d is of %d", c, version, at)
	}
	return fmt.Sprintf("lists %s at %d: %v", c, at, c.held)
}

func (c *simClient) open(request selection.Request, initial map[cache.ObjectName]string) {
	c.watch = c.sim.server.selection.Watch(c.sim.ctx, c.resource, request)
	c.initial, c.newest, c.bookmarked = initial, map[cache.ObjectName]simSent{}, 0
	c.connected++
}

// disconnect ends the watch. The events that the client has not read are lost.
func (c *simClient) disconnect() {
	if c.watch != nil {
		c.watch.Stop()
	}
	if c.initial != nil {
		c.version = 0
	}
	c.watch, c.initial = nil, nil
}

// read reads up to a number of events.
func (c *simClient) read(count int) []string {
	var got []string
	for ; count > 0 && c.watch != nil; count-- {
		select {
		case event, ok := <-c.watch.ResultChan():
			if !ok {
				got = append(got, "closed")
				c.disconnect()
				break
			}
			got = append(got, describe(event))
			c.receive(event)
		default:
			c.checkHeld()
			return got
		}
	}
	return got
}

func (c *simClient) receive(event watch.Event) {
	if status, ok := event.Object.(*metav1.Status); ok {
		if c.disconnect(); status.Code == 410 {
			c.version = 0
		}
		return
	}
	object := event.Object
	if encoded, ok := object.(runtime.CacheableObject); ok {
		object = encoded.GetObject()
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		c.sim.fail("%s: %v", c, err)
		return
	}
	version, err := strconv.ParseUint(accessor.GetResourceVersion(), 10, 64)
	if err != nil || version > c.sim.etcd.revision {
		c.sim.fail("%s gets the resourceVersion %d, etcd has reached %d: %v", c, version, c.sim.etcd.revision, err)
	}
	held, name := c.held, cache.NewObjectName(accessor.GetNamespace(), accessor.GetName())
	if c.initial != nil {
		held = c.initial
	} else {
		c.version = version
	}
	switch event.Type {
	case watch.Bookmark:
		if version < c.bookmarked {
			c.sim.fail("%s gets a bookmark of %d after one of %d", c, version, c.bookmarked)
		}
		c.bookmarked = version
		if c.initial != nil && accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			c.held, c.initial, c.version = c.initial, nil, version
		}
		return
	case watch.Deleted:
		delete(held, name)
		c.newest[name] = simSent{version: c.newest[name].version}
	default:
		c.checkState(name, version, accessor)
		held[name] = accessor.GetResourceVersion()
	}
	if !c.sim.etcd.used[c.node][node.Object{Resource: c.resource, Namespace: name.Namespace, Name: name.Name}] {
		c.sim.fail("%s gets %s, which no pod of the node has ever used", c, name)
	}
}
