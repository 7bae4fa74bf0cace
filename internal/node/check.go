package node

import (
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/projection"
)

// content is one version of the files of a volume, with the objects that it was made from.
type content struct {
	Volume
	payload projection.Payload
	objects []*Object
}

// check returns nil if the check hook of the pod has accepted the content, or if there is no
// such hook.
func (r *refresh) check(next content) error {
	a := r.agent
	if a.hooks.nameFor(r.pod, checkAnnotation) == "" {
		return nil
	}
	call := r.hookCall(checkAnnotation, next.Volume)
	call.content = &next
	return a.hookQueue.result(call, func() (string, error) {
		return a.Volumes.Stage(r.owner, r.volume.Name, next.payload)
	})
}

// acceptedBefore returns the content that the check hook has accepted, if the objects have changed
// since the check began. Publishing it guarantees progress: otherwise a check that is slower than
// the changes would never let files through. It enqueues the pod again, for the new content.
func (r *refresh) acceptedBefore(next content) *content {
	a := r.agent
	if a.hooks.nameFor(r.pod, checkAnnotation) == "" {
		return nil
	}
	earlier := a.hookQueue.takeAccepted(r.hookCall(checkAnnotation, next.Volume))
	if earlier != nil {
		a.loop.Add(cache.MetaObjectToName(r.pod))
	}
	return earlier
}

// takeAccepted returns the content that the last check has accepted, if it differs from the content
// of the call, and forgets the check. Otherwise it returns nil.
func (q *hookQueue) takeAccepted(call hookCall) *content {
	q.mu.Lock()
	defer q.mu.Unlock()
	job := q.jobs[call.id()]
	if job == nil || !job.ended || job.failure != nil || job.digest == call.digest || job.name != call.name() {
		return nil
	}
	delete(q.jobs, call.id())
	return job.content
}
