package selection_test

import (
	"fmt"
	"maps"
	"sort"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/apiserver/selection"
)

// simResources are the resources that the selection and the index read.
var simResources = []string{"pods", "configmaps", "secrets"}

// simEtcd is a model of etcd: every write of every resource, and what existed after each write.
type simEtcd struct {
	// revision is that of the last write, and compacted the oldest one from which a watch can begin.
	revision, compacted uint64
	logs                map[string]*simLog
	// created is the number of objects that were created, for their UIDs.
	created int
	// used has the objects that the pods of a node have ever used.
	used map[string]map[node.Object]bool
}

// simLog has the writes of one resource.
type simLog struct {
	writes []simWrite
	// states[i] is what existed after the first i writes.
	states []simState
	// watches get the writes.
	watches []*simWatch
}

type simWrite struct {
	revision uint64
	event    watch.EventType
	object   selection.Object
}

type simState map[cache.ObjectName]selection.Object

func newSimEtcd() *simEtcd {
	e := &simEtcd{revision: 10, compacted: 1, logs: map[string]*simLog{}, used: map[string]map[node.Object]bool{}}
	for _, resource := range simResources {
		e.logs[resource] = &simLog{states: []simState{{}}}
	}
	return e
}

// now returns what exists.
func (e *simEtcd) now(resource string) simState { return e.at(resource, e.revision) }

// at returns what existed at a revision.
func (e *simEtcd) at(resource string, revision uint64) simState {
	log := e.logs[resource]
	return log.states[log.after(revision)]
}

// after returns the index of the first write after a revision.
func (l *simLog) after(revision uint64) int {
	return sort.Search(len(l.writes), func(i int) bool { return l.writes[i].revision > revision })
}

// put creates an object, changes it, or replaces it by one with another UID. It sets the resourceVersion.
func (e *simEtcd) put(resource string, object selection.Object) {
	event := watch.Added
	if e.now(resource)[cache.MetaObjectToName(object)] != nil {
		event = watch.Modified
	}
	e.write(resource, event, object)
}

func (e *simEtcd) remove(resource string, name cache.ObjectName) {
	e.write(resource, watch.Deleted, e.now(resource)[name].DeepCopyObject().(selection.Object))
}

func (e *simEtcd) write(resource string, event watch.EventType, object selection.Object) {
	e.revision++
	object.SetResourceVersion(strconv.FormatUint(e.revision, 10))
	log, name := e.logs[resource], cache.MetaObjectToName(object)
	state := maps.Clone(log.states[len(log.states)-1])
	if delete(state, name); event != watch.Deleted {
		state[name] = object
	}
	log.writes, log.states = append(log.writes, simWrite{e.revision, event, object}), append(log.states, state)
	for _, w := range log.watches {
		w.queue = append(w.queue, watch.Event{Type: event, Object: object})
	}
	if pod, ok := object.(*corev1.Pod); ok && event != watch.Deleted {
		for _, used := range simUses(pod) {
			if e.used[pod.Spec.NodeName] == nil {
				e.used[pod.Spec.NodeName] = map[node.Object]bool{}
			}
			e.used[pod.Spec.NodeName][used] = true
		}
	}
}

func (e *simEtcd) newUID() types.UID {
	e.created++
	return types.UID(fmt.Sprint("u", e.created))
}

// simUses returns the ConfigMaps and Secrets that a pod of the model names.
func simUses(pod *corev1.Pod) []node.Object {
	var all []node.Object
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.ConfigMap != nil:
			all = append(all, node.Object{Resource: "configmaps", Namespace: pod.Namespace, Name: v.ConfigMap.Name})
		case v.Secret != nil:
			all = append(all, node.Object{Resource: "secrets", Namespace: pod.Namespace, Name: v.Secret.SecretName})
		}
	}
	return all
}

// usedBy returns the mutable objects that exist and that a node uses, with their resourceVersions. An empty node stands for all pods, bound or
// not, and then immutable objects count too.
func usedBy(pods, objects simState, resource, nodeName string) map[cache.ObjectName]string {
	all := map[cache.ObjectName]string{}
	for _, object := range pods {
		pod := object.(*corev1.Pod)
		if nodeName != "" && pod.Spec.NodeName != nodeName {
			continue
		}
		for _, used := range simUses(pod) {
			name := cache.NewObjectName(used.Namespace, used.Name)
			found := objects[name]
			if used.Resource == resource && found != nil && (nodeName == "" || !isFixed(found)) {
				all[name] = found.GetResourceVersion()
			}
		}
	}
	return all
}

// isFixed reports whether an object is immutable.
func isFixed(object selection.Object) bool {
	var immutable *bool
	switch object := object.(type) {
	case *corev1.ConfigMap:
		immutable = object.Immutable
	case *corev1.Secret:
		immutable = object.Immutable
	}
	return immutable != nil && *immutable
}
