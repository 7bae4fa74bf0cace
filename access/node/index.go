package node

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Index knows which node uses what. The zero value is empty and ready.
type Index struct {
	mu sync.RWMutex
	// pods are those that are bound, by namespace and name.
	pods map[cache.ObjectName]bound
	// used counts, for a node and an object, the times that pods name it;
	// service accounts are objects here too.
	used map[usage]int

	synced cache.InformerSynced
}

// bound is what a pod added to the index.
type bound struct {
	node    string
	objects []Object
}

type usage struct {
	node   string
	object Object
}

// NewIndex keeps an index from the informer of pods.
func NewIndex(pods cache.SharedIndexInformer) (*Index, error) {
	i := &Index{}
	registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { i.changed(obj) },
		UpdateFunc: func(_, obj any) { i.changed(obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if pod, ok := obj.(*corev1.Pod); ok {
				i.Remove(pod)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	i.synced = registration.HasSynced
	return i, nil
}

// HasSynced reports whether every pod that is stored is in the index.
func (i *Index) HasSynced() bool { return i.synced == nil || i.synced() }

func (i *Index) changed(obj any) {
	if pod, ok := obj.(*corev1.Pod); ok {
		i.Set(pod)
	}
}

// Set puts a pod, as it is now, in the place of what it was.
func (i *Index) Set(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		i.Remove(pod)
		return
	}
	objects := References(pod)
	if account := pod.Spec.ServiceAccountName; account != "" {
		objects = append(objects, Object{Resource: "serviceaccounts", Namespace: pod.Namespace, Name: account})
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.remove(nameOf(pod))
	if i.pods == nil {
		i.pods, i.used = map[cache.ObjectName]bound{}, map[usage]int{}
	}
	i.pods[nameOf(pod)] = bound{node: pod.Spec.NodeName, objects: objects}
	for _, object := range objects {
		i.used[usage{pod.Spec.NodeName, object}]++
	}
}

// Remove takes a pod out.
func (i *Index) Remove(pod *corev1.Pod) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.remove(nameOf(pod))
}

func (i *Index) remove(name cache.ObjectName) {
	pod, ok := i.pods[name]
	if !ok {
		return
	}
	delete(i.pods, name)
	for _, object := range pod.objects {
		u := usage{pod.node, object}
		if i.used[u]--; i.used[u] == 0 {
			delete(i.used, u)
		}
	}
}

// Uses reports whether a pod bound to the node names the object.
func (i *Index) Uses(node string, object Object) bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.used[usage{node, object}] > 0
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
