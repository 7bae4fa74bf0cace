package selection

import (
	"context"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/access/node"
)

// Objects is the stream of a kind; nil, if the selection is not over it.
func (s *Selection) Objects(resource string) *ObjectStream {
	if s.kinds[resource] == nil {
		return nil
	}
	return &ObjectStream{s: s, k: s.kinds[resource]}
}

// ObjectStream takes the changes of the objects of a kind.
type ObjectStream struct {
	s *Selection
	k *selected
}

// Begin hands over how to ask storage for its progress.
func (o *ObjectStream) Begin(ask func(context.Context) error) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	o.k.ask = ask
}

// Replace says which objects there are at a version.
func (o *ObjectStream) Replace(objs []runtime.Object, version uint64) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	o.k.version = max(o.k.version, version)
	stay := make(map[cache.ObjectName]bool, len(objs))
	for _, obj := range objs {
		after, ok := obj.(Object)
		if !ok {
			continue
		}
		name := cache.MetaObjectToName(after)
		stay[name] = true
		before := o.k.objects[name]
		switch {
		case before == nil:
		case before.GetUID() != after.GetUID():
			o.s.objectIs(o.k, name, change{version: version})
		case before.GetResourceVersion() == after.GetResourceVersion():
			continue
		}
		o.s.objectIs(o.k, name, change{after: after, version: version})
	}
	for name := range o.k.objects {
		if !stay[name] {
			o.s.objectIs(o.k, name, change{version: version})
		}
	}
	o.k.known = true
	o.s.synced(o.k)
	o.s.moved.Send()
}

// Change is one change of one object.
func (o *ObjectStream) Change(event watch.EventType, obj runtime.Object, version uint64) {
	changed, ok := obj.(Object)
	if !ok {
		return
	}
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	o.k.version = max(o.k.version, version)
	c := change{after: changed, version: version}
	if event == watch.Deleted {
		c = change{gone: changed, version: version}
	}
	o.s.objectIs(o.k, cache.MetaObjectToName(changed), c)
	o.s.moved.Send()
}

// Progress says that there is no other change up to a version.
func (o *ObjectStream) Progress(version uint64) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	o.k.version = max(o.k.version, version)
	o.s.moved.Send()
}

// change is what an object is after it, or was when it went.
type change struct {
	after, gone Object
	version     uint64
}

// objectIs puts an object in the place of what it was.
func (s *Selection) objectIs(k *selected, name cache.ObjectName, c change) {
	before, had := k.objects[name]
	e := entry{version: c.version, nodes: s.index.Users(node.Object{Resource: k.Resource, Namespace: name.Namespace, Name: name.Name})}
	switch {
	case c.after != nil && !k.Fixed(c.after):
		k.objects[name] = c.after
		e.event, e.object = watch.Added, c.after
		if had {
			e.event = watch.Modified
		}
	case had:
		delete(k.objects, name)
		// What leaves is shown as it was last in the selection, with the version
		// at which it left.
		e.event, e.object = watch.Deleted, c.gone
		if e.object == nil {
			e.object = at(before, c.version)
		}
	default:
		return
	}
	s.entry(k, e)
}

// at is an object with another version.
func at(obj Object, version uint64) Object {
	moved, ok := obj.DeepCopyObject().(Object)
	if !ok {
		return obj
	}
	moved.SetResourceVersion(strconv.FormatUint(version, 10))
	return moved
}
