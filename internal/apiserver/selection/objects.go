package selection

import (
	"context"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/access/node"
)

// Objects returns the stream of a kind. It is nil if the selection does not include the kind.
func (s *Selection) Objects(resource string) *ObjectStream {
	if s.kinds[resource] == nil {
		return nil
	}
	return &ObjectStream{s: s, k: s.kinds[resource]}
}

// ObjectStream receives the changes of the objects of a kind.
type ObjectStream struct {
	s *Selection
	k *selected
}

// Begin sets the function that asks storage to report its progress.
func (o *ObjectStream) Begin(ask func(context.Context) error) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	o.k.ask = ask
}

// Replace sets all objects that exist at a version.
func (o *ObjectStream) Replace(objs []runtime.Object, version uint64) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	o.k.version = max(o.k.version, version)
	listed, existing := cause{version: version, listed: true}, make(map[cache.ObjectName]bool, len(objs))
	for _, obj := range objs {
		after, ok := obj.(Object)
		if !ok {
			continue
		}
		name := cache.MetaObjectToName(after)
		existing[name] = true
		before := o.k.objects[name]
		switch {
		case before == nil:
		case before.GetUID() != after.GetUID():
			o.s.setObject(o.k, name, change{cause: listed})
		case before.GetResourceVersion() == after.GetResourceVersion():
			continue
		}
		o.s.setObject(o.k, name, change{after: after, cause: listed})
	}
	for name := range o.k.objects {
		if !existing[name] {
			o.s.setObject(o.k, name, change{cause: listed})
		}
	}
	o.k.known = true
	o.s.synced(o.k)
	o.s.advanced.Send()
}

// Change reports the change of one object.
func (o *ObjectStream) Change(event watch.EventType, obj runtime.Object, version uint64) {
	changed, ok := obj.(Object)
	if !ok {
		return
	}
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	o.k.version = max(o.k.version, version)
	name := cache.MetaObjectToName(changed)
	c := change{after: changed, cause: cause{version: version}}
	if event == watch.Deleted {
		c = change{deleted: changed, cause: c.cause}
	} else if before := o.k.objects[name]; before != nil && before.GetUID() != changed.GetUID() {
		// The write replaced the object. A client that resumes at the resourceVersion of the deletion gets both events.
		o.s.setObject(o.k, name, change{deleted: withVersion(before, version-1), cause: c.cause})
	}
	o.s.setObject(o.k, name, c)
	o.s.advanced.Send()
}

// Progress reports that all changes up to a version were reported.
func (o *ObjectStream) Progress(version uint64) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	o.k.version = max(o.k.version, version)
	o.s.advanced.Send()
}

// change is a change of an object. after is the object after the change, nil if it was
// deleted. deleted is the last state of a deleted object, if storage reported it.
type change struct {
	after, deleted Object
	cause
}

// setObject replaces an object and adds the entry that follows from it.
func (s *Selection) setObject(k *selected, name cache.ObjectName, c change) {
	before, had := k.objects[name]
	users := s.index.Users(node.Object{Resource: k.Resource, Namespace: name.Namespace, Name: name.Name})
	e := entry{cause: c.cause, nodes: users}
	switch {
	case c.after != nil && !k.Fixed(c.after):
		k.objects[name] = c.after
		e.event, e.object = watch.Added, c.after
		if had {
			e.event = watch.Modified
		}
	case had:
		delete(k.objects, name)
		// The event has the last state of the object in the selection, with the version at
		// which it left.
		e.event, e.object = watch.Deleted, c.deleted
		if e.object == nil {
			e.object = withVersion(before, c.version)
		}
	default:
		return
	}
	s.addEntry(k, e)
}

// withVersion returns a copy of an object with another resourceVersion.
func withVersion(obj Object, version uint64) Object {
	copied, ok := obj.DeepCopyObject().(Object)
	if !ok {
		return obj
	}
	copied.SetResourceVersion(strconv.FormatUint(version, 10))
	return copied
}
