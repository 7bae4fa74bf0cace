package node

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// syncTerminating keeps the volumes of a deleted pod up to date until its grace period ends.
// Then it removes them and finishes the deletion, unless a kubelet does that.
func (a *Agent) syncTerminating(ctx context.Context, pod *corev1.Pod) (outcome, error) {
	owner, left := a.nodeOwner(), a.graceLeft(pod)
	if owner == ownedHere && left <= 0 {
		return outcome{}, a.finish(ctx, pod)
	}
	result, err := a.refreshPod(ctx, pod)
	switch owner {
	case ownedHere:
		result.after = sooner(result.after, left)
	case ownerUnknown:
		result.retry = true
	}
	return result, err
}

// graceLeft returns how long the files of a deleted pod have to stay. Without a grace period it
// is zero, even if the clock of this host is behind that of the server: the agent itself ends
// the period before it finishes the deletion, and must not write the files again then.
func (a *Agent) graceLeft(pod *corev1.Pod) time.Duration {
	if ptr.Deref(pod.DeletionGracePeriodSeconds, 0) == 0 {
		return 0
	}
	// The API cuts the time to seconds, so the period may end up to a second later.
	return pod.DeletionTimestamp.Add(time.Second).Sub(a.Clock.Now())
}

// finish removes the files of a pod that is being deleted and deletes the pod with a
// grace period of 0. No other process on this node would delete the pod.
func (a *Agent) finish(ctx context.Context, pod *corev1.Pod) error {
	name := cache.MetaObjectToName(pod)
	a.setUses(name, podUses{})
	if err := a.removePod(name, pod.UID); err != nil {
		return err
	}
	if ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0 {
		// Only finalizers keep the pod; their controllers remove them.
		return a.reportRemoved(ctx, pod, "the pod is being deleted, and its files are removed")
	}
	err := a.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // deleted, perhaps created again with another UID
	}
	return err
}

// isFinished reports whether all containers of a pod have ended for good.
func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// syncFinished keeps the volumes of a finished pod for Config.FinishedTTL and then removes
// them. The record stays, so that a restarted agent knows when the pod finished.
func (a *Agent) syncFinished(ctx context.Context, pod *corev1.Pod) (outcome, error) {
	name := cache.MetaObjectToName(pod)
	record := a.copyRecord(name, pod.UID)
	if record.Finished == nil {
		record.Finished = ptr.To(a.Clock.Now().UTC())
		if err := a.saveRecord(record); err != nil {
			return outcome{}, err
		}
	}
	if left := record.Finished.Add(a.FinishedTTL).Sub(a.Clock.Now()); left > 0 {
		result, err := a.refreshPod(ctx, pod)
		result.after = sooner(result.after, left)
		return result, err
	}
	a.setUses(name, podUses{})
	if err := a.removePod(name, pod.UID); err != nil {
		return outcome{}, err
	}
	empty := &Record{Namespace: record.Namespace, Name: record.Name, UID: record.UID, Finished: record.Finished}
	if err := a.saveRecord(empty); err != nil {
		return outcome{}, err
	}
	return outcome{}, a.reportRemoved(ctx, pod, "the pod has finished, and its files are removed")
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
	a.space.release(name.Namespace, uid)
	a.hookQueue.forgetPod(uid)
	return a.resolver.unpin(uid)
}
