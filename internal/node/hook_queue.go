package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// hookPatience is how long a hook may wait and run before the condition of its pod
	// says that it has not ended.
	hookPatience = 2 * time.Second
	// A hook that failed runs again after firstHookRetry, then after twice as long each
	// time, up to lastRetry.
	firstHookRetry = time.Second
)

// hookQueue runs hooks apart from the workers, so that a slow hook delays no volume but
// its own. The worker of a pod starts a run and returns. The queue enqueues the pod when
// the run has ended, and the next sync of the pod gets the result.
type hookQueue struct {
	ctx     context.Context
	hooks   *hooks
	clock   clock.WithTicker
	metrics *metrics
	// ended enqueues a pod.
	ended   func(cache.ObjectName)
	unstage func(dir string) error
	running *sync.WaitGroup
	slots   *hookSlots

	mu   sync.Mutex
	jobs map[hookID]*hookJob
}

// hookID identifies the check hook or the on-change hook of one volume.
type hookID struct {
	volume     volumeID
	annotation string
}

// hookJob is the last run of a hook for one content of a volume.
type hookJob struct {
	name, digest string
	// content is what a check hook checks.
	content *content
	// since is when the first run was requested, for this content or for the one before it.
	since  time.Time
	cancel context.CancelFunc
	ended  bool
	// replaces is true if the run of a check for older content was killed for this run. This
	// run is not killed for newer content: it ends, and the content that it accepts is published.
	replaces bool
	// failure is the result of the last run that failed. It stays while the hook runs
	// again.
	failure *hookError
	// failures is the number of failed runs, and retry the time of the next one.
	failures int
	retry    time.Time
}

// newHookQueue returns the queue of an agent. Its goroutines end with ctx and are added
// to running.
func newHookQueue(ctx context.Context, a *Agent, running *sync.WaitGroup) *hookQueue {
	return &hookQueue{
		ctx: ctx, hooks: a.hooks, clock: a.Clock, metrics: a.metrics, running: running,
		ended:   func(name cache.ObjectName) { a.loop.Add(name) },
		unstage: a.Volumes.Unstage, slots: &hookSlots{limit: a.HookConcurrency},
		jobs: map[hookID]*hookJob{},
	}
}

// result returns nil if the hook has succeeded for the digest of the call. It returns a
// *hookPending while the hook waits or runs for the first time, and a *hookError after a
// run that failed. It starts a run if none is due or running already. stage, unless it
// is nil, writes the files for the run and returns their directory.
func (q *hookQueue) result(call hookCall, stage func() (string, error)) error {
	id := call.id()
	q.mu.Lock()
	job := q.jobs[id]
	isSame := job != nil && job.digest == call.digest && job.name == call.name()
	killed := false
	switch {
	case job == nil:
	case !job.ended && (isSame || job.replaces || call.annotation == onChangeAnnotation):
		// Do not interrupt an on-change hook: it may be reloading a daemon. It runs again
		// for the new files when it has ended.
		defer q.mu.Unlock()
		return job.status(call, q.clock.Now())
	case !job.ended:
		job.cancel() // the files that it checks are outdated
		killed = true
	case isSame && (job.failure == nil || q.clock.Now().Before(job.retry)):
		defer q.mu.Unlock()
		return job.status(call, q.clock.Now())
	}
	q.mu.Unlock()
	if stage != nil {
		dir, err := stage()
		if err != nil {
			return err
		}
		call.path = dir
	}
	next := &hookJob{name: call.name(), digest: call.digest, content: call.content, since: q.clock.Now()}
	switch {
	case isSame:
		next.since, next.failure, next.failures = job.since, job.failure, job.failures
	case killed:
		next.since, next.replaces = job.since, true
	}
	return q.start(call, next)
}

// start starts a run of a hook.
func (q *hookQueue) start(call hookCall, job *hookJob) error {
	ctx, cancel := context.WithCancel(q.ctx)
	job.cancel = cancel
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs[call.id()] = job
	q.running.Go(func() {
		defer cancel()
		failure := q.run(ctx, call)
		if call.annotation == checkAnnotation {
			if err := q.unstage(call.path); err != nil {
				klog.FromContext(ctx).Error(err, "the files of a check are not removed", "dir", call.path)
			}
		}
		q.end(call, job, failure)
	})
	return job.status(call, q.clock.Now())
}

// run waits for a slot, runs the hook, and logs and counts the result.
func (q *hookQueue) run(ctx context.Context, call hookCall) *hookError {
	// The name comes from the API. Only hooks that exist get slots and metrics of their own.
	if _, err := q.hooks.checkedFile(call.name()); err != nil {
		q.metrics.addHook(call, unknownHook, 0, err)
		return q.failed(call, err, "")
	}
	release, err := q.slots.acquire(ctx, hookUse{hook: call.name(), namespace: call.pod.Namespace})
	if err != nil {
		return &hookError{call: call, err: err}
	}
	defer release()
	began := q.clock.Now()
	output, err := q.hooks.run(ctx, call)
	if ctx.Err() != nil {
		return &hookError{call: call, err: ctx.Err()}
	}
	duration := q.clock.Since(began)
	q.metrics.addHook(call, call.name(), duration, err)
	if err != nil {
		return q.failed(call, err, output)
	}
	klog.FromContext(ctx).Info("a hook ran", append(call.logValues(), "duration", duration, "output", output)...)
	return nil
}

// failed logs the failure of a hook.
func (q *hookQueue) failed(call hookCall, err error, output string) *hookError {
	klog.FromContext(q.ctx).Error(err, "a hook failed", append(call.logValues(), "output", output)...)
	return &hookError{call: call, err: err, output: output}
}

// end stores the result of a run and enqueues the pod, unless the run was replaced or
// forgotten.
func (q *hookQueue) end(call hookCall, job *hookJob, failure *hookError) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.jobs[call.id()] != job || q.ctx.Err() != nil {
		return
	}
	job.ended, job.failure = true, failure
	if failure != nil {
		delay := min(firstHookRetry<<min(job.failures, 10), lastRetry)
		job.failures++
		job.retry = q.clock.Now().Add(delay)
	}
	q.ended(cache.MetaObjectToName(call.pod))
}

// forget cancels a hook and drops its result, so that the next call runs it again.
func (q *hookQueue) forget(id hookID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if job := q.jobs[id]; job != nil {
		job.cancel()
		delete(q.jobs, id)
	}
}

// forgetPod cancels the hooks of a pod and drops their results.
func (q *hookQueue) forgetPod(pod types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, job := range q.jobs {
		if id.volume.pod == pod {
			job.cancel()
			delete(q.jobs, id)
		}
	}
}

// status returns the result of the job at a time.
func (j *hookJob) status(call hookCall, now time.Time) error {
	switch {
	case j.failure != nil:
		failure := *j.failure
		failure.retry = max(j.retry.Sub(now), 0)
		return &failure
	case !j.ended:
		return &hookPending{call: call, since: j.since}
	}
	return nil
}

// id returns the hook that is called.
func (c hookCall) id() hookID {
	return hookID{volumeID{c.pod.UID, c.volume}, c.annotation}
}

func (c hookCall) logValues() []any {
	return []any{
		"pod", cache.MetaObjectToName(c.pod).String(), "uid", c.pod.UID, "volume", c.volume, "hook", c.label(), "annotation", c.annotation,
	}
}

// hookError is the failure of a hook.
type hookError struct {
	call   hookCall
	err    error
	output string
	// retry is the time until the hook runs again; 0 while it runs.
	retry time.Duration
}

// Error implements error.
func (e *hookError) Error() string {
	return fmt.Sprintf("hook %q of %s: %v", e.call.label(), e.call.annotation, e.err)
}

// Unwrap returns the cause.
func (e *hookError) Unwrap() error { return e.err }

// hookPending is returned while a hook has not ended.
type hookPending struct {
	call  hookCall
	since time.Time
}

// Error implements error.
func (e *hookPending) Error() string {
	return fmt.Sprintf("hook %q of %s has not ended yet", e.call.label(), e.call.annotation)
}
