package controller

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"holdfast.dev/holdfast/api"
)

// The reasons of Events about Instances. The first two are those of KUDO.
const (
	// reasonStarted is the reason of the Event about the start of a plan.
	reasonStarted = "PlanStarted"
	// reasonFinished is the reason of the Event about a plan that is complete.
	reasonFinished = "PlanFinished"
	// reasonFailed is the reason of the Event about a plan that failed.
	reasonFailed = "PlanFailed"
	// reasonUnknownFields is the reason of the Event about fields in a template that the kind
	// does not have.
	reasonUnknownFields = "UnknownFields"
)

// startEvents starts to record Events about Instances, with the rights of the controller. The
// returned function ends it.
func (c *controller) startEvents(ctx context.Context) (stop func(), err error) {
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		return nil, err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.server.Typed.CoreV1().Events("")})
	c.events = broadcaster.NewRecorder(scheme, corev1.EventSource{Component: manager})
	return broadcaster.Shutdown, nil
}

// announceStart records that the run has begun, and which fields it leaves out.
func (e *execution) announceStart(objects []target) {
	e.events.Eventf(e.instance, corev1.EventTypeNormal, reasonStarted, "Execution of plan %s started", e.status.Name)
	for _, object := range objects {
		if len(object.dropped) > 0 {
			e.events.Eventf(e.instance, corev1.EventTypeWarning, reasonUnknownFields, "%s: %s %s has no such fields, they are left out: %s",
				title(object.Unstructured), object.GetAPIVersion(), object.GetKind(), strings.Join(object.dropped, ", "))
		}
	}
}

// announceEnd records how the run has ended.
func (e *execution) announceEnd() {
	message := fmt.Sprintf("Execution of plan %s finished with status %s", e.status.Name, e.status.Status)
	if e.status.Status != api.FatalError {
		e.events.Event(e.instance, corev1.EventTypeNormal, reasonFinished, message)
		return
	}
	e.events.Eventf(e.instance, corev1.EventTypeWarning, reasonFailed, "%s: %s", message, e.status.Message)
}
