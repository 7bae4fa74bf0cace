package selection

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/access/node"
)

// stream is the state of the changes of one resource.
type stream struct {
	// version is the revision that the stream has reached.
	version uint64
	// known is set when all objects were reported once.
	known bool
	// ask asks storage to report its progress by a call of Progress.
	ask func(context.Context) error
}

// Pods returns the stream of pods. The pods say which node uses which objects.
func (s *Selection) Pods() *PodStream { return &PodStream{s} }

// PodStream receives the changes of pods.
type PodStream struct{ s *Selection }

// Begin sets the function that asks storage to report its progress.
func (p *PodStream) Begin(ask func(context.Context) error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.pods.ask = ask
}

// Replace sets all pods that exist at a version.
func (p *PodStream) Replace(objs []runtime.Object, version uint64) {
	pods := make([]*corev1.Pod, 0, len(objs))
	for _, obj := range objs {
		if pod, ok := obj.(*corev1.Pod); ok {
			pods = append(pods, pod)
		}
	}
	p.s.podsAdvanced(cause{version: version, listed: true}, func() []node.Change { return p.s.index.Replace(pods) })
}

// Change reports the change of one pod.
func (p *PodStream) Change(event watch.EventType, obj runtime.Object, version uint64) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	p.s.podsAdvanced(cause{version: version}, func() []node.Change {
		if event == watch.Deleted {
			return p.s.index.Remove(pod)
		}
		return p.s.index.Set(pod)
	})
}

// Progress reports that all changes up to a version were reported.
func (p *PodStream) Progress(version uint64) { p.s.podsAdvanced(cause{version: version}, nil) }

// podsAdvanced applies a change of the index of pods, nil for none, and wakes the requests that
// wait for the stream.
func (s *Selection) podsAdvanced(by cause, change func() []node.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods.version = max(s.pods.version, by.version)
	if change != nil {
		for _, c := range change() {
			s.setUse(c, by)
		}
		s.pods.known = true
		for _, k := range s.kinds {
			s.synced(k)
		}
	}
	s.advanced.Send()
}

// setUse adds the entry for an object that a node begins to use, or no longer uses.
func (s *Selection) setUse(c node.Change, by cause) {
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
	s.addEntry(k, entry{cause: by, event: event, object: obj, nodes: []string{c.Node}})
}
