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

// patience is how often something may go wrong before a pod is told: a server
// that learns of a pod a moment after its node refuses that long.
const patience = 4

// outcome says when to look at a pod again.
type outcome struct {
	// retry asks for a look soon, later each time.
	retry bool
	// again, if there is one, asks for a look at that time.
	again time.Duration
}

// sync makes what is on disk for a name what it should be. It is never called
// twice at a time for one name.
func (a *Agent) sync(ctx context.Context, name cache.ObjectName) (outcome, error) {
	pod, err := a.podOf(name)
	if err != nil {
		return outcome{}, err
	}
	for _, uid := range a.known(name) {
		if pod == nil || pod.UID != uid {
			if err := a.forget(name, uid); err != nil {
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

// known are the UIDs of pods that had a name and are remembered.
func (a *Agent) known(name cache.ObjectName) []types.UID {
	a.mu.Lock()
	defer a.mu.Unlock()
	var uids []types.UID
	for uid, record := range a.records {
		if record.key() == name {
			uids = append(uids, uid)
		}
	}
	return uids
}

// forget removes everything there is of a pod: the files first, and what tells
// of them last, so that a crash leaves nothing that nobody knows of.
func (a *Agent) forget(name cache.ObjectName, uid types.UID) error {
	if err := a.Volumes.Remove(uid); err != nil {
		return fmt.Errorf("remove volumes of pod %s: %w", name, err)
	}
	if err := a.State.DeleteRecord(uid); err != nil {
		return fmt.Errorf("remove state of pod %s: %w", name, err)
	}
	a.mu.Lock()
	delete(a.records, uid)
	delete(a.told, uid)
	for id := range a.failing {
		if id.pod == uid {
			delete(a.failing, id)
		}
	}
	a.mu.Unlock()
	return a.resolver.release(uid)
}

// finish ends a pod that is being deleted: nothing runs here that would need
// its grace period.
func (a *Agent) finish(ctx context.Context, pod *corev1.Pod) error {
	name := cache.MetaObjectToName(pod)
	a.setUses(name, nil)
	if err := a.forget(name, pod.UID); err != nil {
		return err
	}
	if ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0 {
		return nil // the rest is for whoever put a finalizer on it
	}
	err := a.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is gone, or another one has its name
	}
	return err
}

// setUses remembers which objects a pod names; those that it does not name any
// more are not followed for it.
func (a *Agent) setUses(name cache.ObjectName, refs []Ref) {
	var gone []Ref
	a.mu.Lock()
	for ref, pods := range a.uses {
		if !pods[name] || slices.Contains(refs, ref) {
			continue
		}
		gone = append(gone, ref)
		delete(pods, name)
		if len(pods) == 0 {
			delete(a.uses, ref)
		}
	}
	for _, ref := range refs {
		if a.uses[ref] == nil {
			a.uses[ref] = map[cache.ObjectName]bool{}
		}
		a.uses[ref][name] = true
	}
	a.mu.Unlock()
	for _, ref := range gone {
		a.resolver.follower.unfollow(ref, name)
	}
}

// refreshPod makes every volume of a pod what it should be, and tells the pod.
func (a *Agent) refreshPod(ctx context.Context, pod *corev1.Pod) (outcome, error) {
	name := cache.MetaObjectToName(pod)
	record := a.recordOf(name, pod.UID)
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
		result.retry = result.retry || r.look
		if r.again > 0 && (result.again == 0 || r.again < result.again) {
			result.again = r.again
		}
		id := volumeID{pod.UID, volume.Name}
		if err == nil {
			a.mended(id)
			continue
		}
		a.metrics.failures.Inc()
		a.failed(id)
		var missing *projection.Missing
		if errors.As(err, &missing) {
			result.retry = result.retry || !a.resolver.follower.sees()
		} else {
			failed = append(failed, fmt.Errorf("volume %s: %w", volume.Name, err))
		}
		problems = append(problems, fmt.Sprintf("volume %s: %v", volume.Name, err))
	}
	if len(failed) == 0 || a.queue.NumRequeues(name) >= patience {
		failed = append(failed, a.tell(ctx, pod, problems))
	}
	return result, errors.Join(failed...)
}

func (a *Agent) failed(id volumeID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, already := a.failing[id]; !already {
		a.failing[id] = a.Clock.Now()
	}
}

func (a *Agent) mended(id volumeID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.failing, id)
}
