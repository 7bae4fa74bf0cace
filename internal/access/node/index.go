package node

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Index records which nodes use which objects. The zero value is an empty index.
// The watcher of pods updates it with Set, Remove and Replace. It is safe for
// concurrent use.
type Index struct {
	mu sync.RWMutex
	// pods holds the pods that are bound to a node.
	pods map[cache.ObjectName]bound
	// used counts, for each node and object, how often pods of the node refer to
	// the object. Service accounts count as objects, too.
	used map[string]map[Object]int
	// users holds the sorted names of the nodes that use an object. A slice in it
	// is never modified, only replaced, because Users returns it to callers.
	users map[Object][]string
}

// bound is the node of a pod and the objects that the pod refers to.
type bound struct {
	node    string
	objects []Object
}

// Change reports that a node has begun to use an object, or, if Used is false, no
// longer uses it.
type Change struct {
	Node   string
	Object Object
	Used   bool
}

// Set adds the pod, or replaces the pod of the same name, and returns the changes.
func (i *Index) Set(pod *corev1.Pod) []Change {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.set(nameOf(pod), boundOf(pod))
}

// Remove removes the pod and returns the changes.
func (i *Index) Remove(pod *corev1.Pod) []Change {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.set(nameOf(pod), bound{})
}

// Replace replaces all pods of the index by the given ones and returns the changes.
func (i *Index) Replace(pods []*corev1.Pod) []Change {
	i.mu.Lock()
	defer i.mu.Unlock()
	keep := make(map[cache.ObjectName]bool, len(pods))
	var changes []Change
	for _, pod := range pods {
		keep[nameOf(pod)] = true
		changes = append(changes, i.set(nameOf(pod), boundOf(pod))...)
	}
	for name := range i.pods {
		if !keep[name] {
			changes = append(changes, i.set(name, bound{})...)
		}
	}
	return changes
}

// boundOf returns the node and the objects of a pod. It is empty if the pod is not
// bound to a node.
func boundOf(pod *corev1.Pod) bound {
	if pod.Spec.NodeName == "" {
		return bound{}
	}
	objects := References(pod)
	if account := pod.Spec.ServiceAccountName; account != "" {
		objects = append(objects, Object{Resource: "serviceaccounts", Namespace: pod.Namespace, Name: account})
	}
	for i := range pod.Spec.Volumes {
		if claim := claimName(pod, &pod.Spec.Volumes[i]); claim != "" {
			objects = append(objects, Object{Resource: "persistentvolumeclaims", Namespace: pod.Namespace, Name: claim})
		}
	}
	for _, claim := range resourceClaims(pod) {
		objects = append(objects, Object{Resource: "resourceclaims", Namespace: pod.Namespace, Name: claim})
	}
	return bound{node: pod.Spec.NodeName, objects: objects}
}

// resourceClaims returns the names of the ResourceClaims of a pod. A claim that is generated
// from a template has its name in the status.
func resourceClaims(pod *corev1.Pod) []string {
	var names []string
	for _, claim := range pod.Spec.ResourceClaims {
		if claim.ResourceClaimName != nil {
			names = append(names, *claim.ResourceClaimName)
		}
	}
	for _, status := range pod.Status.ResourceClaimStatuses {
		if status.ResourceClaimName != nil {
			names = append(names, *status.ResourceClaimName)
		}
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		names = append(names, extended.ResourceClaimName)
	}
	return names
}

// set replaces the entry of a pod by after and returns the changes. An empty after
// removes the pod.
func (i *Index) set(name cache.ObjectName, after bound) []Change {
	before := i.pods[name]
	// Most updates of a pod change only its status.
	if before.node == after.node && slices.Equal(before.objects, after.objects) {
		return nil
	}
	// Add the new references before removing the old ones, so that the count of an
	// object that the pod still uses never drops to zero.
	var changes []Change
	for _, object := range after.objects {
		if i.count(after.node, object, 1) == 1 {
			i.users[object] = with(i.users[object], after.node)
			changes = append(changes, Change{Node: after.node, Object: object, Used: true})
		}
	}
	for _, object := range before.objects {
		if i.count(before.node, object, -1) == 0 {
			i.removeUser(before.node, object)
			changes = append(changes, Change{Node: before.node, Object: object})
		}
	}
	if after.node == "" {
		delete(i.pods, name)
	} else {
		if i.pods == nil {
			i.pods = map[cache.ObjectName]bound{}
		}
		i.pods[name] = after
	}
	return changes
}

// count adds by to the number of references from the node to the object and returns
// the new number.
func (i *Index) count(node string, object Object, by int) int {
	if i.used == nil {
		i.used, i.users = map[string]map[Object]int{}, map[Object][]string{}
	}
	if i.used[node] == nil {
		i.used[node] = map[Object]int{}
	}
	i.used[node][object] += by
	return i.used[node][object]
}

// removeUser removes the node from the users of the object.
func (i *Index) removeUser(node string, object Object) {
	delete(i.used[node], object)
	if len(i.used[node]) == 0 {
		delete(i.used, node)
	}
	if left := without(i.users[object], node); len(left) > 0 {
		i.users[object] = left
	} else {
		delete(i.users, object)
	}
}

// with returns a sorted copy of nodes that includes node.
func with(nodes []string, node string) []string {
	at, _ := slices.BinarySearch(nodes, node)
	return slices.Concat(nodes[:at], []string{node}, nodes[at:])
}

// without returns nodes without node. It never changes the argument.
func without(nodes []string, node string) []string {
	at, found := slices.BinarySearch(nodes, node)
	if !found {
		return nodes
	}
	return slices.Concat(nodes[:at], nodes[at+1:])
}

// Uses reports whether a pod that is bound to the node refers to the object.
func (i *Index) Uses(node string, object Object) bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.used[node][object] > 0
}

// UsedBy returns the objects of a resource that a node uses, in no particular order.
func (i *Index) UsedBy(node, resource string) []Object {
	i.mu.RLock()
	defer i.mu.RUnlock()
	var objects []Object
	for object := range i.used[node] {
		if object.Resource == resource {
			objects = append(objects, object)
		}
	}
	return objects
}

// Users returns the sorted names of the nodes that use an object. The caller must not
// modify the slice. Later changes of the index do not modify it either.
func (i *Index) Users(object Object) []string {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.users[object]
}

// NodeOf returns the node that a pod is bound to. It returns false if the index has
// no such pod or the pod is not bound.
func (i *Index) NodeOf(namespace, name string) (string, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	pod, ok := i.pods[cache.NewObjectName(namespace, name)]
	return pod.node, ok
}

func nameOf(pod *corev1.Pod) cache.ObjectName { return cache.NewObjectName(pod.Namespace, pod.Name) }
