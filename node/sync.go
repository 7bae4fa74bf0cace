package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/projection"
)

// reportAfterFailures is how many syncs of a pod may fail before the failure is
// reported in its condition. One of several servers may see a pod later than the node
// does. Until then, that server rejects the requests of the node for the objects of the
// pod.
const reportAfterFailures = 4

// outcome says when a pod has to be synced again.
type outcome struct {
	// retry is true if the pod has to be enqueued again, with backoff.
	retry bool
	// after, unless it is 0, is the time after which the pod has to be synced again.
	after time.Duration
}

// sync brings the files and records of the pods of this name up to date. The queue
// never runs it twice at the same time for one name.
func (a *Agent) sync(ctx context.Context, name cache.ObjectName) (outcome, error) {
	pod, err := a.getPod(name)
	if err != nil {
		return outcome{}, err
	}
	for _, uid := range a.recordedUIDs(name) {
		if pod == nil || pod.UID != uid {
			if err := a.removePod(name, uid); err != nil {
				return outcome{}, err
			}
		}
	}
	switch {
	case pod == nil:
		a.setUses(name, nil)
		return outcome{}, nil
	case pod.DeletionTimestamp != nil && a.holdfast:
		return outcome{}, a.finish(ctx, pod)
	}
	return a.refreshPod(ctx, pod)
}

// recordedUIDs returns the UIDs of all pods of this name that have a record. A pod
// that was deleted and created again has another UID.
func (a *Agent) recordedUIDs(name cache.ObjectName) []types.UID {
	a.mu.Lock()
	defer a.mu.Unlock()
	var uids []types.UID
	for uid, record := range a.records {
		if record.podName() == name {
			uids = append(uids, uid)
		}
	}
	return uids
}

// removePod removes the files, the record and the pins of a pod. The record is removed
// after the files: if the agent crashes in between, the next start finds the record
// and removes the rest.
func (a *Agent) removePod(name cache.ObjectName, uid types.UID) error {
	if err := a.Volumes.Remove(uid); err != nil {
		return fmt.Errorf("remove volumes of pod %s: %w", name, err)
	}
	if err := a.State.DeleteRecord(uid); err != nil {
		return fmt.Errorf("remove state of pod %s: %w", name, err)
	}
	a.mu.Lock()
	delete(a.records, uid)
	delete(a.reported, uid)
	for id := range a.failing {
		if id.pod == uid {
			delete(a.failing, id)
		}
	}
	a.mu.Unlock()
	return a.resolver.unpin(uid)
}

// finish removes the files of a pod that is being deleted and deletes the pod with a
// grace period of 0. No container runs here that would need the grace period.
func (a *Agent) finish(ctx context.Context, pod *corev1.Pod) error {
	name := cache.MetaObjectToName(pod)
	a.setUses(name, nil)
	if err := a.removePod(name, pod.UID); err != nil {
		return err
	}
	if ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0 {
		return nil // only finalizers keep the pod; their controllers remove them
	}
	err := a.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // deleted, perhaps created again with another UID
	}
	return err
}

// setUses sets the objects that a pod references. It stops watching, for this pod, the
// objects that the pod no longer references.
func (a *Agent) setUses(name cache.ObjectName, refs []Ref) {
	var gone []Ref
	a.mu.Lock()
	for ref, pods := range a.users {
		if !pods[name] || slices.Contains(refs, ref) {
			continue
		}
		gone = append(gone, ref)
		delete(pods, name)
		if len(pods) == 0 {
			delete(a.users, ref)
		}
	}
	for _, ref := range refs {
		if a.users[ref] == nil {
			a.users[ref] = map[cache.ObjectName]bool{}
		}
		a.users[ref][name] = true
	}
	a.mu.Unlock()
	for _, ref := range gone {
		a.resolver.watcher.unwatch(ref, name)
	}
}

// refreshPod brings every volume of a pod up to date and reports the result in the
// condition of the pod.
func (a *Agent) refreshPod(ctx context.Context, pod *corev1.Pod) (outcome, error) {
	name := cache.MetaObjectToName(pod)
	record := a.copyRecord(name, pod.UID)
	var refs []Ref
	for i := range pod.Spec.Volumes {
		for _, reference := range projection.References(&pod.Spec.Volumes[i]) {
			refs = append(refs, Ref{reference.Kind, pod.Namespace, reference.Name})
		}
	}
	a.setUses(name, refs)
	var result outcome
	var problems []string
	var failed []error
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if !projection.Supported(volume) {
			continue
		}
		r := refresh{agent: a, pod: pod, volume: volume, record: record}
		err := r.run(ctx)
		if ctx.Err() != nil {
			return outcome{}, ctx.Err()
		}
		result.retry = result.retry || r.retry
		if r.after > 0 && (result.after == 0 || r.after < result.after) {
			result.after = r.after
		}
		id := volumeID{pod.UID, volume.Name}
		if err == nil {
			a.markReady(id)
			continue
		}
		a.metrics.failures.Inc()
		a.markFailing(id)
		var missing *projection.MissingError
		if errors.As(err, &missing) {
			result.retry = result.retry || !a.resolver.watcher.seesNewObjects()
		} else {
			failed = append(failed, fmt.Errorf("volume %s: %w", volume.Name, err))
		}
		problems = append(problems, fmt.Sprintf("volume %s: %v", volume.Name, err))
	}
	if len(failed) == 0 || a.loop.Retries(name) >= reportAfterFailures {
		failed = append(failed, a.report(ctx, pod, problems))
	}
	return result, errors.Join(failed...)
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
