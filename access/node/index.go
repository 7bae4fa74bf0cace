package node

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Index knows which node uses what. The zero value is empty and ready; whoever
// follows pods keeps it, by Set, Remove and Replace. It is safe for concurrent
// use.
type Index struct {
	mu sync.RWMutex
	// pods are those that are bound, by namespace and name.
	pods map[cache.ObjectName]bound
	// used counts, for a node and an object, the times that pods name it;
	// service accounts are objects here too.
	used map[string]map[Object]int
	// users are the nodes that use an object, in order. A list is never changed,
	// but replaced, so that it can be handed out.
	users map[Object][]string
}

// bound is what a pod added to the index.
type bound struct {
	node    string
	objects []Object
}

// Change says that a node came to use an object, or does not use it any more.
type Change struct {
	Node   string
	Object Object
	Used   bool
}

// Set puts a pod, as it is now, in the place of what it was, and returns what
// changed by that.
func (i *Index) Set(pod *corev1.Pod) []Change {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.set(nameOf(pod), use(pod))
}

// Remove takes a pod out and returns what changed by that.
func (i *Index) Remove(pod *corev1.Pod) []Change {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.set(nameOf(pod), bound{})
}

// Replace makes these the pods that there are and returns what changed by that.
func (i *Index) Replace(pods []*corev1.Pod) []Change {
	i.mu.Lock()
	defer i.mu.Unlock()
	stay := make(map[cache.ObjectName]bool, len(pods))
	var changes []Change
	for _, pod := range pods {
		stay[nameOf(pod)] = true
		changes = append(changes, i.set(nameOf(pod), use(pod))...)
	}
	for name := range i.pods {
		if !stay[name] {
			changes = append(changes, i.set(name, bound{})...)
		}
	}
	return changes
}

// use is what a pod adds to the index: nothing, until it is bound.
func use(pod *corev1.Pod) bound {
	if pod.Spec.NodeName == "" {
		return bound{}
	}
	objects := References(pod)
	if account := pod.Spec.ServiceAccountName; account != "" {
		objects = append(objects, Object{Resource: "serviceaccounts", Namespace: pod.Namespace, Name: account})
	}
	return bound{node: pod.Spec.NodeName, objects: objects}
}

// set puts what a pod uses in the place of what it used.
func (i *Index) set(name cache.ObjectName, after bound) []Change {
	before := i.pods[name]
	// Nearly every change of a pod is one of its status.
	if before.node == after.node && slices.Equal(before.objects, after.objects) {
		return nil
	}
	// What is used before and after is counted up first, and so never not used.
	var changes []Change
	for _, object := range after.objects {
		if i.count(after.node, object, 1) == 1 {
			i.users[object] = with(i.users[object], after.node)
			changes = append(changes, Change{Node: after.node, Object: object, Used: true})
		}
	}
	for _, object := range before.objects {
		if i.count(before.node, object, -1) == 0 {
			i.forget(before.node, object)
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

// count counts uses of an object up or down, and returns how many there are.
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

func (i *Index) forget(node string, object Object) {
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

func with(nodes []string, node string) []string {
	at, _ := slices.BinarySearch(nodes, node)
	return slices.Concat(nodes[:at], []string{node}, nodes[at:])
}

func without(nodes []string, node string) []string {
	at, found := slices.BinarySearch(nodes, node)
	if !found {
		return nodes
	}
	return slices.Concat(nodes[:at], nodes[at+1:])
}

// Uses reports whether a pod bound to the node names the object.
func (i *Index) Uses(node string, object Object) bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.used[node][object] > 0
}

// UsedBy returns the objects of a resource that a node uses, in no order.
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

// Users returns the nodes that use an object, in order. The list is not to be
// changed, and does not change.
func (i *Index) Users(object Object) []string {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.users[object]
}

// NodeOf is the node that a pod is bound to; false means that no such pod is
// bound.
func (i *Index) NodeOf(namespace, name string) (string, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	pod, ok := i.pods[cache.NewObjectName(namespace, name)]
	return pod.node, ok
}

func nameOf(pod *corev1.Pod) cache.ObjectName { return cache.NewObjectName(pod.Namespace, pod.Name) }
