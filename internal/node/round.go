package node

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/projection"
)

// reportAfterFailures is how many syncs of a pod may fail before the failure is
// reported in its condition. One of several servers may see a pod later than the node
// does. Until then, that server rejects the requests of the node for the objects of the
// pod.
const reportAfterFailures = 4

// problem is one reason why the volumes of a pod are not ready.
type problem struct {
	text string
	// output is the end of the output of a hook that failed.
	output string
	// pending is true if nothing failed, and the agent waits for a hook.
	pending bool
}

// round collects the results of all volumes in one sync of a pod.
type round struct {
	agent *Agent
	outcome
	problems []problem
	// failed are the errors for which the pod is synced again with backoff.
	failed []error
	// waiting is true if a hook has just been started. The pod is then reported when
	// the hook has ended, or does not end within hookPatience.
	waiting bool
}

// add adds the result of one volume.
func (s *round) add(r *refresh, err error) {
	a := s.agent
	id := volumeID{r.pod.UID, r.volume.Name}
	var missing *projection.MissingError
	var failure *hookError
	var pending *hookPending
	reason := problem{text: fmt.Sprintf("volume %s: %v", r.volume.Name, err)}
	switch {
	case err == nil:
		a.markReady(id)
	case errors.As(err, &failure):
		a.metrics.failures.Inc()
		a.markFailing(id)
		reason.output = failure.output
		s.problems = append(s.problems, reason)
		if failure.retry > 0 {
			r.refreshAfter(failure.retry)
		}
	case errors.As(err, &pending):
		a.markFailing(id)
		if left := hookPatience - a.Clock.Since(pending.since); left > 0 {
			s.waiting = true
			r.refreshAfter(left)
			break
		}
		reason.pending = true
		s.problems = append(s.problems, reason)
	default:
		a.metrics.failures.Inc()
		a.markFailing(id)
		if errors.As(err, &missing) {
			s.retry = s.retry || !a.resolver.watcher.seesNewObjects()
		} else {
			s.failed = append(s.failed, fmt.Errorf("volume %s: %w", r.volume.Name, err))
		}
		s.problems = append(s.problems, reason)
	}
	s.retry = s.retry || r.retry
	s.after = sooner(s.after, r.after)
}

// addUnsupported adds the volumes that the agent does not write. Beside a kubelet, the kubelet
// provides them.
func (s *round) addUnsupported(pod *corev1.Pod) {
	unsupported := unsupportedVolumes(pod)
	switch owner := s.agent.nodeOwner(); {
	case len(unsupported) == 0 || owner == ownedElsewhere:
	case owner == ownerUnknown:
		s.waiting, s.retry = true, true
	default:
		for _, text := range unsupported {
			s.problems = append(s.problems, problem{text: text})
		}
	}
}

// canReport reports whether the condition of the pod can be set after this round.
func (s *round) canReport(retries int) bool {
	switch {
	case len(s.failed) > 0:
		return retries >= reportAfterFailures
	case s.waiting:
		return len(s.problems) > 0
	}
	return true
}

// markFailing records since when a volume is not up to date.
func (a *Agent) markFailing(id volumeID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, already := a.failing[id]; !already {
		a.failing[id] = a.Clock.Now()
	}
}

// markReady records that a volume is up to date.
func (a *Agent) markReady(id volumeID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.failing, id)
}

// sooner returns the shorter of two durations; zero means no deadline and never wins.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || (b > 0 && b < a) {
		return b
	}
	return a
}
