package referrers

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/references"
)

// Index is the index of references.
type Index struct {
	seed   maphash.Seed
	config Config
	now    func() time.Time
	// changed receives a value when a definition changed.
	changed chan struct{}

	mu sync.Mutex
	// kinds are the kinds that may refer to ConfigMaps and Secrets.
	kinds map[schema.GroupResource]*kind
	// counts says how many objects have a reference.
	counts map[key]uint32
	// total is the sum of the counts.
	total int
	// patterned are the kinds with references that have placeholders.
	patterned map[*kind]struct{}
	targets   targets
	// targetsRead are the kinds of objects that are all known.
	targetsRead references.Kind
	// grants are the ReferenceGrants that allow something, and granted what they allow together.
	grants  map[names]grant
	granted grantTable
	// pins are the pins of pods, by namespace and name.
	pins map[string]map[string]pins
	// definitions are those that exist. definitionsRead says that all of them are known.
	definitions     map[schema.GroupResource]declaration
	definitionsRead bool
	// decoded are the definitions that the last exact read has read.
	decoded map[schema.GroupResource]storedDefinition
	// slots has the last exact reads of namespaces.
	slots map[string]*slot
	// subscribers are called with the changes.
	subscribers []*subscriber
	// pending are the objects about which the subscribers will be told when the lock is released.
	pending []event
}

type subscriber struct {
	notify func(kind references.Kind, namespace, name string)
}

// event is an object that changed. It is empty if the completeness of the index changed.
type event struct {
	kind references.Kind
	names
}

// New returns an empty index.
func New() *Index {
	x := &Index{
		seed: maphash.MakeSeed(), now: time.Now, changed: make(chan struct{}, 1),
		kinds: builtInKinds(), counts: map[key]uint32{}, patterned: map[*kind]struct{}{}, pins: map[string]map[string]pins{},
		definitions: map[schema.GroupResource]declaration{}, grants: map[names]grant{}, granted: grantTable{},
		slots: map[string]*slot{},
	}
	x.targets = newTargets()
	return x
}

// lock locks the index. The returned function releases the lock and calls the subscribers.
func (x *Index) lock() (unlock func()) {
	x.mu.Lock()
	return func() {
		events, subscribers := x.pending, x.subscribers
		x.pending = nil
		x.mu.Unlock()
		for _, e := range events {
			for _, s := range subscribers {
				s.notify(e.kind, e.namespace, e.name)
			}
		}
	}
}

// Subscribe calls a function when an object begins or ends to be referenced, when it changes, and, with an empty name, when Incomplete may
// have changed. The function must not block. The returned function ends the subscription.
func (x *Index) Subscribe(notify func(kind references.Kind, namespace, name string)) (stop func()) {
	s := &subscriber{notify}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.subscribers = append(slices.Clip(x.subscribers), s)
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.subscribers = slices.DeleteFunc(slices.Clone(x.subscribers), func(other *subscriber) bool { return other == s })
	}
}

// notify records an event for the subscribers. The caller holds the lock.
func (x *Index) notify(e event) {
	if len(x.subscribers) > 0 {
		x.pending = append(x.pending, e)
	}
}

// Unused returns since when no object refers to an object, as this server knows it. ok is false if one does, or if the object is unknown.
func (x *Index) Unused(kind references.Kind, namespace, name string) (since time.Time, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.targets.get(x.key(kind, namespace, name), namespace, name)
	if t == nil || t.referenced {
		return time.Time{}, false
	}
	return t.since, true
}

// UID returns the UID of an object, empty if there is none. known is false if the index may not have the object yet.
func (x *Index) UID(kind references.Kind, namespace, name string) (uid types.UID, known bool) {
	if x.Incomplete(namespace) != "" {
		return "", false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.targets.get(x.key(kind, namespace, name), namespace, name); t != nil {
		return t.uid, true
	}
	return "", true
}

// set replaces the references of an object. The caller holds the lock, and may change refs afterwards.
func (x *Index) set(k *kind, object names, refs found) {
	k.setPatterns(x, object, refs.patterns)
	if k.resource == grants {
		x.setGrant(object, refs.grant)
	}
	before, existed := k.objects[object.namespace][object.name]
	if existed && slices.Equal(before, refs.keys) || !existed && len(refs.keys) == 0 && !k.custom {
		return
	}
	if len(refs.keys) == 0 && !k.custom {
		k.drop(x, object)
	} else {
		k.keep(x, object, refs.keys)
	}
	x.count(object.namespace, before, refs.keys)
}

// remove removes an object that may refer to others. The caller holds the lock.
func (x *Index) remove(k *kind, object names) {
	k.setPatterns(x, object, nil)
	if k.resource == grants {
		x.setGrant(object, grant{})
	}
	if before, ok := k.objects[object.namespace][object.name]; ok {
		k.drop(x, object)
		x.count(object.namespace, before, nil)
	}
}

// replace replaces all objects of a kind by those that the function adds. Objects that stay are never without their references in between.
func (x *Index) replace(k *kind, add func(set func(object names, refs found))) {
	stay := make(map[names]struct{})
	add(func(object names, refs found) {
		stay[object] = struct{}{}
		x.set(k, object, refs)
	})
	for namespace, objects := range k.objects {
		for name := range objects {
			if _, ok := stay[names{namespace, name}]; !ok {
				x.remove(k, names{namespace, name})
			}
		}
	}
	for object := range k.patterns {
		if _, ok := stay[object]; !ok {
			k.setPatterns(x, object, nil)
		}
	}
}

// count counts the references of an object in a namespace, which are sorted, and judges the objects that begin or end to be referenced.
func (x *Index) count(namespace string, before, after []key) {
	var crossed []key
	for _, one := range after {
		if _, ok := slices.BinarySearch(before, one); ok {
			continue
		}
		if x.counts[one]++; x.counts[one] == 1 || one&fromOne == foreign {
			crossed = append(crossed, one)
		}
	}
	for _, one := range before {
		if _, ok := slices.BinarySearch(after, one); ok {
			continue
		}
		x.counts[one]--
		if x.counts[one] == 0 || one&fromOne == foreign {
			crossed = append(crossed, one)
		}
		if x.counts[one] == 0 {
			delete(x.counts, one)
		}
	}
	x.total += len(after) - len(before)
	for _, one := range crossed {
		if one&fromOne == fromOne {
			continue // the key of the same reference that is marked as foreign finds the object
		}
		switch one &^ kindBits {
		case x.key(0, namespace, ""):
			x.judgeAll(namespace)
			continue
		case x.key(0, "", "") | everywhere:
			x.judgeAll("")
			continue
		}
		x.targets.each(one, x.judge)
	}
}

// isReferenced reports whether an object refers to another one. The caller holds the lock.
func (x *Index) isReferenced(kind references.Kind, namespace, name string) bool {
	for _, one := range x.keysOf(kind, namespace, name, x.granted) {
		if x.counts[one] > 0 {
			return true
		}
	}
	for k := range x.patterned {
		for _, patterns := range k.patterns {
			if matches(patterns, kind, namespace, name) {
				return true
			}
		}
	}
	return false
}

// judge decides whether an object is referenced, and since when it is not. The caller holds the lock.
func (x *Index) judge(t *target) {
	referenced := x.isReferenced(t.kind, t.namespace, t.name)
	if referenced == t.referenced {
		return
	}
	t.referenced = referenced
	if !referenced {
		t.since = x.now()
	}
	x.notify(event{t.kind, t.names})
}

// judgeAll judges all objects of a namespace, or, if it is empty, of all namespaces.
func (x *Index) judgeAll(namespace string) {
	for t := range x.targets.of(namespace) {
		x.judge(t)
	}
}
