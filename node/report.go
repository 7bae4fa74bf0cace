package node

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

const (
	// VolumesReady is the condition of a pod that says whether its volumes are
	// what they should be, and if not why.
	VolumesReady corev1.PodConditionType = "holdfast.dev/VolumesReady"

	reasonReady    = "VolumesReady"
	reasonNotReady = "VolumesNotReady"
	// longestMessage is about what an Event may say.
	longestMessage = 1000
)

// startEvents sends events to the server until ctx ends.
func (a *Agent) startEvents(ctx context.Context, running *sync.WaitGroup) {
	broadcaster := record.NewBroadcaster(record.WithContext(a.refusals(ctx, "an event of a pod is not recorded").over(ctx)))
	sink := broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: a.Client.CoreV1().Events("")})
	a.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "holdfast-node", Host: a.Name})
	running.Go(func() {
		<-ctx.Done()
		sink.Stop()
		broadcaster.Shutdown()
	})
}

// tell makes the pod's condition say what is wrong with its volumes, or that
// nothing is, and sends an event when that changes.
func (a *Agent) tell(ctx context.Context, pod *corev1.Pod, problems []string) error {
	message := strings.Join(problems, "\n")
	if len(message) > longestMessage {
		message = strings.ToValidUTF8(message[:longestMessage], "") + "..."
	}
	want := corev1.PodCondition{Type: VolumesReady, Status: corev1.ConditionTrue, Reason: reasonReady}
	if message != "" {
		want.Status, want.Reason, want.Message = corev1.ConditionFalse, reasonNotReady, message
	}
	is := conditionOf(pod)
	a.mu.Lock()
	told, again := a.told[pod.UID]
	a.told[pod.UID] = message
	a.mu.Unlock()
	switch {
	case message != "" && (!again || told != message):
		a.events.Event(pod, corev1.EventTypeWarning, reasonNotReady, message)
	case message == "" && is != nil && is.Status == corev1.ConditionFalse && (!again || told != ""):
		a.events.Event(pod, corev1.EventTypeNormal, reasonReady, "all volumes are ready")
	}
	if is != nil && is.Status == want.Status && is.Reason == want.Reason && is.Message == want.Message {
		return nil
	}
	want.LastTransitionTime = metav1.NewTime(a.Clock.Now())
	if is != nil && is.Status == want.Status {
		want.LastTransitionTime = is.LastTransitionTime
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		// Every field is said: one that is left out keeps what it had.
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": want.Type, "status": want.Status, "reason": want.Reason, "message": want.Message, "lastTransitionTime": want.LastTransitionTime,
		}}},
	})
	if err != nil {
		return err
	}
	_, err = a.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone, or another one by now: a watch tells
	}
	if err != nil {
		return fmt.Errorf("condition of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

func conditionOf(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == VolumesReady {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
