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

	"holdfast.dev/holdfast/internal/references"
)

const (
	// VolumesReady is the condition of a pod that is true if all its volumes are up
	// to date. If it is false, its message lists the problems.
	VolumesReady corev1.PodConditionType = "holdfast.dev/VolumesReady"

	// reasonReady is the reason of the condition and of the Event if all volumes of a pod have
	// their files.
	reasonReady = "VolumesReady"
	// reasonNotReady is the reason of the condition and of the Event if a volume lacks files.
	reasonNotReady = "VolumesNotReady"
	// reasonRemoved is the reason of the condition after the agent has removed the files of a
	// pod that ended.
	reasonRemoved = "VolumesRemoved"
	// reasonPinned is the reason of the condition that lists the immutable objects whose content
	// a pod has.
	reasonPinned = "ImmutableObjects"
	// longestMessage is the length at which a message is cut. The limit for Events is
	// 1,024 bytes.
	longestMessage = 1000
)

// startEvents sets up the recorder that sends Events to the server until ctx ends.
func (a *Agent) startEvents(ctx context.Context, running *sync.WaitGroup) {
	broadcaster := record.NewBroadcaster(record.WithContext(a.newRejectionLog(ctx, "an event of a pod is not recorded").context(ctx)))
	sink := broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: a.Client.CoreV1().Events("")})
	a.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "holdfast-node", Host: a.Name})
	running.Go(func() {
		<-ctx.Done()
		sink.Stop()
		broadcaster.Shutdown()
	})
}

// report sets the condition VolumesReady of the pod: true if there are no problems,
// false with the problems as its message otherwise. It sends an Event if a volume failed
// and the reasons are new. It also sets the condition with the pins of the record.
func (a *Agent) report(ctx context.Context, pod *corev1.Pod, record *Record, problems []problem) error {
	var all, failures, details []string
	for _, problem := range problems {
		all = append(all, problem.text)
		if !problem.pending {
			failures = append(failures, problem.text)
			details = append(details, strings.TrimSpace(problem.text+"\n"+lastLines(problem.output)))
		}
	}
	want := corev1.PodCondition{Type: VolumesReady, Status: corev1.ConditionTrue, Reason: reasonReady}
	if len(all) > 0 {
		want.Status, want.Reason, want.Message = corev1.ConditionFalse, reasonNotReady, shorten(all)
	}
	current := conditionOf(pod, VolumesReady)
	failure := shorten(failures)
	a.mu.Lock()
	last, known := a.reported[pod.UID]
	a.reported[pod.UID] = failure
	a.mu.Unlock()
	changed := !known || last != failure
	switch {
	case failure != "" && changed:
		a.events.Event(pod, corev1.EventTypeWarning, reasonNotReady, shorten(details))
	case len(all) == 0 && changed && current != nil && current.Status == corev1.ConditionFalse:
		a.events.Event(pod, corev1.EventTypeNormal, reasonReady, "all volumes are ready")
	}
	return a.setConditions(ctx, pod, want, pinned(record.pins()))
}

// reportRemoved sets the conditions of a pod that exists and has no files any more.
func (a *Agent) reportRemoved(ctx context.Context, pod *corev1.Pod, message string) error {
	return a.setConditions(ctx, pod, corev1.PodCondition{
		Type: VolumesReady, Status: corev1.ConditionFalse, Reason: reasonRemoved, Message: message,
	}, pinned(nil))
}

// pinned returns the condition with the pins of a pod. It has no status if there are none.
func pinned(pins []references.Pin) corev1.PodCondition {
	if len(pins) == 0 {
		return corev1.PodCondition{Type: references.Pinned}
	}
	return corev1.PodCondition{
		Type: references.Pinned, Status: corev1.ConditionTrue, Reason: reasonPinned, Message: references.FormatPins(pins),
	}
}

// setConditions writes the conditions that the pod does not have yet, in one request. It removes those without a status.
func (a *Agent) setConditions(ctx context.Context, pod *corev1.Pod, wanted ...corev1.PodCondition) error {
	var changes []any
	for _, want := range wanted {
		if change := a.conditionChange(conditionOf(pod, want.Type), want); change != nil {
			changes = append(changes, change)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"conditions": changes},
	})
	if err != nil {
		return err
	}
	_, err = a.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // deleted, perhaps created again; the watch of pods reports it
	}
	if err != nil {
		return fmt.Errorf("conditions of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// conditionChange returns the item of a strategic merge patch that replaces a condition, nil if it is as wanted.
func (a *Agent) conditionChange(current *corev1.PodCondition, want corev1.PodCondition) map[string]any {
	if want.Status == "" {
		if current == nil {
			return nil
		}
		return map[string]any{"type": want.Type, "$patch": "delete"}
	}
	want.LastTransitionTime = metav1.NewTime(a.Clock.Now())
	if current != nil && current.Status == want.Status {
		if current.Reason == want.Reason && current.Message == want.Message {
			return nil
		}
		want.LastTransitionTime = current.LastTransitionTime
	}
	// Write every field, empty ones too: a strategic merge patch keeps the old value of a field that is left out.
	return map[string]any{
		"type": want.Type, "status": want.Status, "reason": want.Reason, "message": want.Message,
		"lastTransitionTime": want.LastTransitionTime,
	}
}

// shorten joins the lines of a message and cuts it.
func shorten(lines []string) string {
	message := strings.Join(lines, "\n")
	if len(message) > longestMessage {
		message = strings.ToValidUTF8(message[:longestMessage], "") + "..."
	}
	return message
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
