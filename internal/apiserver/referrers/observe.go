package referrers

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/references"
)

var pods = schema.GroupResource{Resource: "pods"}

// Observe returns the observers of the built-in kinds that the index needs, beside others.
func (x *Index) Observe(others map[schema.GroupResource]storage.Observer) map[schema.GroupResource]storage.Observer {
	all := maps.Clone(others)
	add := func(resource schema.GroupResource, own storage.Observer) {
		if other := all[resource]; other != nil {
			own = storage.Observers{other, own}
		}
		all[resource] = own
	}
	for resource, k := range x.kinds {
		add(resource, &kindObserver{index: x, kind: k, refs: collector{index: x}})
	}
	add(corev1.Resource("configmaps"), targetObserver{x, references.ConfigMap})
	add(corev1.Resource("secrets"), targetObserver{x, references.Secret})
	return all
}

// unasked is an observer that needs no reports about progress.
type unasked struct{}

// Begin implements storage.Observer.
func (unasked) Begin(func(context.Context) error) {}

// Progress implements storage.Observer.
func (unasked) Progress(uint64) {}

// kindObserver sees the changes of a built-in kind whose objects may refer to others.
type kindObserver struct {
	unasked
	index *Index
	kind  *kind
	// refs is used for one object after the other.
	refs collector
}

// Replace implements storage.Observer.
func (o *kindObserver) Replace(objs []runtime.Object, _ uint64) {
	unlock := o.index.lock()
	defer unlock()
	if o.kind.resource == pods {
		clear(o.index.pins)
	}
	if o.kind.resource == definitionsResource {
		clear(o.index.definitions)
	}
	o.index.replace(o.kind, func(set func(names, found)) {
		for _, obj := range objs {
			if meta, ok := obj.(metav1.Object); ok {
				set(names{meta.GetNamespace(), meta.GetName()}, o.find(obj, meta))
				o.setMore(obj, meta)
			}
		}
	})
	if o.kind.resource == definitionsResource {
		o.index.definitionsRead = true
		o.index.definitionsChanged()
	}
	o.kind.setState(o.index, state{listed: true})
}

// Change implements storage.Observer.
func (o *kindObserver) Change(event watch.EventType, obj runtime.Object, _ uint64) {
	meta, ok := obj.(metav1.Object)
	if !ok {
		return
	}
	object := names{meta.GetNamespace(), meta.GetName()}
	if event == watch.Deleted {
		unlock := o.index.lock()
		defer unlock()
		o.index.remove(o.kind, object)
		switch o.kind.resource {
		case pods:
			o.index.setPins(object, pins{})
		case definitionsResource:
			delete(o.index.definitions, schema.ParseGroupResource(meta.GetName()))
			o.index.definitionsChanged()
		}
		return
	}
	refs := o.find(obj, meta)
	unlock := o.index.lock()
	defer unlock()
	o.index.set(o.kind, object, refs)
	o.setMore(obj, meta)
}

// find returns the references of an object, which are valid until the next call.
func (o *kindObserver) find(obj runtime.Object, meta metav1.Object) found {
	o.refs.begin(meta.GetNamespace())
	o.kind.typed.Visit(obj, o.refs.add)
	return o.refs.end()
}

// setMore takes note of the pins of a pod, and of definitions. The caller holds the lock of the index.
func (o *kindObserver) setMore(obj runtime.Object, meta metav1.Object) {
	switch obj := obj.(type) {
	case *corev1.Pod:
		o.index.setPins(names{obj.Namespace, obj.Name}, pinsOfPod(obj))
	case *definition.CustomResourceDefinition:
		resource := schema.ParseGroupResource(meta.GetName())
		if now := declarationOf(obj); o.index.definitions[resource] != now {
			o.index.definitions[resource] = now
			o.index.definitionsChanged()
		}
	}
}

// pins are the pins of a pod, as references.FormatPins wrote them.
type pins struct {
	node, text string
}

// pinsOfPod returns the pins that the agent reports of a pod. They are zero if it reports none.
func pinsOfPod(pod *corev1.Pod) pins {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == references.Pinned && c.Status == corev1.ConditionTrue {
			return pins{node: pod.Spec.NodeName, text: c.Message}
		}
	}
	return pins{}
}

// setPins takes note of the pins of a pod, or, if they are zero, that it has none. The caller holds the lock.
func (x *Index) setPins(pod names, now pins) {
	in := x.pins[pod.namespace]
	if now == (pins{}) {
		if delete(in, pod.name); len(in) == 0 {
			delete(x.pins, pod.namespace)
		}
		return
	}
	if in == nil {
		in = map[string]pins{}
		x.pins[pod.namespace] = in
	}
	in[pod.name] = now
}

// targetObserver sees the changes of ConfigMaps or Secrets.
type targetObserver struct {
	index *Index
	kind  references.Kind
}

// Begin implements storage.Observer.
func (targetObserver) Begin(func(context.Context) error) {}

// Progress implements storage.Observer.
func (targetObserver) Progress(uint64) {}

// Replace implements storage.Observer.
func (o targetObserver) Replace(objs []runtime.Object, _ uint64) {
	unlock := o.index.lock()
	defer unlock()
	stay := make(map[names]struct{}, len(objs))
	for _, obj := range objs {
		if t := o.targetOf(obj); t != nil {
			stay[t.names] = struct{}{}
			o.index.setTarget(t)
		}
	}
	for t := range o.index.targets.of("") {
		if _, ok := stay[t.names]; !ok && t.kind == o.kind {
			o.index.removeTarget(t)
		}
	}
	o.index.targetsRead |= o.kind
	o.index.notify(event{})
}

// Change implements storage.Observer.
func (o targetObserver) Change(event watch.EventType, obj runtime.Object, _ uint64) {
	t := o.targetOf(obj)
	if t == nil {
		return
	}
	unlock := o.index.lock()
	defer unlock()
	if event != watch.Deleted {
		o.index.setTarget(t)
		return
	}
	if found := o.index.targets.get(o.index.key(t.kind, t.namespace, t.name), t.namespace, t.name); found != nil {
		o.index.removeTarget(found)
	}
}

func (o targetObserver) targetOf(obj runtime.Object) *target {
	var immutable *bool
	switch obj := obj.(type) {
	case *corev1.ConfigMap:
		immutable = obj.Immutable
	case *corev1.Secret:
		immutable = obj.Immutable
	}
	meta, ok := obj.(metav1.Object)
	if !ok {
		return nil
	}
	return &target{
		kind: o.kind, names: names{meta.GetNamespace(), meta.GetName()}, uid: meta.GetUID(), immutable: immutable != nil && *immutable,
	}
}

// setTarget takes note of a ConfigMap or a Secret. The caller holds the lock.
func (x *Index) setTarget(t *target) {
	found := x.targets.get(x.key(t.kind, t.namespace, t.name), t.namespace, t.name)
	switch {
	case found == nil:
		t.referenced, t.since = x.isReferenced(t.kind, t.namespace, t.name), x.now()
		x.targets.add(x, t)
	case found.uid != t.uid:
		found.since = x.now()
		fallthrough
	default:
		found.uid, found.immutable = t.uid, t.immutable
	}
	x.notify(event{t.kind, t.names})
}

// removeTarget takes note that a ConfigMap or a Secret was deleted. The caller holds the lock.
func (x *Index) removeTarget(t *target) {
	x.targets.remove(x, t)
	x.notify(event{t.kind, t.names})
}
