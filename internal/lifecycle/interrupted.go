package lifecycle

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// isInterrupted reports whether the server may have left a pod in the middle of its deletion. The server removes a pod without a grace
// period in two writes: the first sets the deletionTimestamp, and the second removes the pod. If the server is killed between them, or the
// request is cancelled, the pod stays, and no other controller deletes it again.
func isInterrupted(pod *corev1.Pod) bool {
	period := pod.DeletionGracePeriodSeconds
	return pod.DeletionTimestamp != nil && period != nil && *period == 0
}

// finish deletes an interrupted pod again when it has been so for the quarantine. Until then the server may still be about to remove it. A
// pod with finalizers waits for those: the server removes it together with the last one.
func (p *pods) finish(ctx context.Context, name cache.ObjectName, pod *corev1.Pod) (time.Duration, error) {
	if left := p.quarantine - p.interrupted.age(name.String(), string(pod.UID)); left > 0 {
		return left, nil
	}
	now, err := p.typed.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read pod %s: %w", name, err)
	}
	if now.UID != pod.UID || len(now.Finalizers) > 0 {
		return 0, nil
	}
	return 0, p.remove(ctx, now)
}
