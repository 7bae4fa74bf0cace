package selection

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/access/node"
)

// stream is how far the changes of a resource are known.
type stream struct {
	version uint64
	// known says that all objects were seen once.
	known bool
	// ask has storage tell how far it is, by Progress.
	ask func(context.Context) error
}

// Pods is the stream of pods, which says who uses what.
func (s *Selection) Pods() *PodStream { return &PodStream{s} }

// PodStream takes the changes of pods.
type PodStream struct{ s *Selection }

// Begin hands over how to ask storage for its progress.
func (p *PodStream) Begin(ask func(context.Context) error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.pods.ask = ask
}

// Replace says which pods there are at a version.
func (p *PodStream) Replace(objs []runtime.Object, version uint64) {
	pods := make([]*corev1.Pod, 0, len(objs))
	for _, obj := range objs {
		if pod, ok := obj.(*corev1.Pod); ok {
			pods = append(pods, pod)
		}
	}
	p.s.podsMoved(version, func() []node.Change { return p.s.index.Replace(pods) })
}

// Change is one change of one pod.
func (p *PodStream) Change(event watch.EventType, obj runtime.Object, version uint64) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	p.s.podsMoved(version, func() []node.Change {
		if event == watch.Deleted {
			return p.s.index.Remove(pod)
		}
		return p.s.index.Set(pod)
	})
}

// Progress says that there is no other change up to a version.
func (p *PodStream) Progress(version uint64) { p.s.podsMoved(version, nil) }

func (s *Selection) podsMoved(version uint64, change func() []node.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods.version = max(s.pods.version, version)
	if change != nil {
		for _, c := range change() {
			s.used(c, version)
		}
		s.pods.known = true
		for _, k := range s.kinds {
			s.synced(k)
		}
	}
	s.moved.Send()
}

// used enters what a change of a pod brings into a node's selection, or takes
// out of it.
func (s *Selection) used(c node.Change, version uint64) {
	k := s.kinds[c.Object.Resource]
	if k == nil {
		return
	}
	obj, ok := k.objects[cache.NewObjectName(c.Object.Namespace, c.Object.Name)]
	if !ok {
		return
	}
	event := watch.Deleted
	if c.Used {
		event = watch.Added
	}
	s.entry(k, entry{version: version, event: event, object: obj, nodes: []string{c.Node}})
}
