package selection_test

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/apiserver/selection"
	"holdfast.dev/holdfast/internal/references"
)

var simReferences = map[string]references.Kind{"configmaps": references.ConfigMap, "secrets": references.Secret}

// simObserver takes note of what the observers of a resource have been shown.
type simObserver struct {
	// version is the revision that the stream has reached, zero if it has shown nothing.
	version uint64
	objects simState
	wrong   error
}

// Begin implements storage.Observer.
func (*simObserver) Begin(func(context.Context) error) {}

// Replace implements storage.Observer.
func (o *simObserver) Replace(objs []runtime.Object, version uint64) {
	o.reach(version)
	o.objects = simState{}
	for _, obj := range objs {
		o.objects[cache.MetaObjectToName(obj.(selection.Object))] = obj.(selection.Object)
	}
}

// Change implements storage.Observer.
func (o *simObserver) Change(event watch.EventType, obj runtime.Object, version uint64) {
	o.reach(version)
	name := cache.MetaObjectToName(obj.(selection.Object))
	if delete(o.objects, name); event != watch.Deleted {
		o.objects[name] = obj.(selection.Object)
	}
}

// Progress implements storage.Observer.
func (o *simObserver) Progress(version uint64) { o.reach(version) }

func (o *simObserver) reach(version uint64) {
	if version < o.version {
		o.wrong = fmt.Errorf("an observer is shown %d after %d", version, o.version)
	}
	o.version = version
}

// fail takes note of the first thing that is wrong.
func (s *sim) fail(format string, args ...any) {
	if s.wrong == nil {
		s.wrong = fmt.Errorf(format, args...)
	}
}

// check checks what must hold at every moment.
func (s *sim) check() error {
	for _, resource := range simResources {
		o := s.server.observers[resource]
		if o.wrong != nil {
			return fmt.Errorf("%s: %w", resource, o.wrong)
		}
		if want := s.etcd.at(resource, o.version); o.version > 0 && !maps.Equal(versions(o.objects), versions(want)) {
			return fmt.Errorf("the observers of %s at %d were shown %v, stored were %v", resource, o.version, versions(o.objects), versions(want))
		}
	}
	for _, resource := range simResources[1:] {
		s.checkSelection(resource)
		s.checkReferrers(resource, simReferences[resource])
	}
	return s.wrong
}

// checkSelection compares the selection with the objects and the pods at the revisions that its streams have reached.
func (s *sim) checkSelection(resource string) {
	ended, end := context.WithCancel(s.ctx)
	end() // the list does not wait
	pods, objects := s.server.observers["pods"], s.server.observers[resource]
	for _, name := range simNodes {
		items, version, err := s.server.selection.List(ended, resource, selection.Request{Node: name})
		if err != nil {
			return // a stream has not reached the beginning of the history
		}
		got := map[cache.ObjectName]string{}
		for _, item := range items {
			got[cache.MetaObjectToName(item)] = item.GetResourceVersion()
		}
		want := usedBy(s.etcd.at("pods", pods.version), s.etcd.at(resource, objects.version), resource, name)
		if version != min(pods.version, objects.version) || !maps.Equal(got, want) {
			s.fail("%s of %s at %d and %d: listed at %d %v, want %v", resource, name, pods.version, objects.version, version, got, want)
		}
	}
}

// checkReferrers compares the index of references with the objects and the pods at the revisions that its streams have reached. The time since
// which it takes an object for unused is behind the last moment at which it was shown a reference, or another object of the name.
func (s *sim) checkReferrers(resource string, kind references.Kind) {
	v := s.server
	pods, objects := v.observers["pods"], v.observers[resource]
	complete := pods.version > 0 && v.observers["configmaps"].version > 0 && v.observers["secrets"].version > 0
	if why := v.index.Incomplete(""); complete != (why == "") {
		s.fail("the index is complete: %t, but says %q", complete, why)
	}
	if !complete {
		return
	}
	existing := s.etcd.at(resource, objects.version)
	used := usedBy(s.etcd.at("pods", pods.version), existing, resource, "")
	for _, namespace := range simNamespaces {
		for i := range simNames {
			name := cache.NewObjectName(namespace, fmt.Sprint("o-", i))
			found, key := existing[name], resource+" "+name.String()
			since, unused := v.index.Unused(kind, name.Namespace, name.Name)
			_, isUsed := used[name]
			uid, _ := v.index.UID(kind, name.Namespace, name.Name)
			switch {
			case unused != (found != nil && !isUsed):
				s.fail("at %d and %d the index says that %s is unused: %t; it exists: %t, pods use it: %t",
					pods.version, objects.version, key, unused, found != nil, isUsed)
			case found != nil && uid != found.GetUID() || found == nil && uid != "":
				s.fail("the index takes %s for %q", key, uid)
			case v.told[key] != unused:
				s.fail("the subscribers of the index were told that %s is unused: %t, and it is: %t", key, v.told[key], unused)
			}
			last, now := v.seen[key], seen{uid, isUsed, time.Now(), v.seen[key].busy}
			if last.used || last.uid != uid {
				now.busy = last.at
			}
			if v.seen[key] = now; unused && (since.Before(now.busy) || since.After(now.at)) {
				s.fail("%s is unused since %v, but was used or another object at %v", key, since, now.busy)
			}
		}
	}
}

// seen is what the index knew of an object at the last check. busy is the last moment at which the object was in use or another one.
type seen struct {
	uid      types.UID
	used     bool
	at, busy time.Time
}

func versions(state simState) map[cache.ObjectName]string {
	all := map[cache.ObjectName]string{}
	for name, object := range state {
		all[name] = object.GetResourceVersion()
	}
	return all
}
