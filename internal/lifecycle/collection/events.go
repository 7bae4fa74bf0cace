package collection

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// The reasons of Events about ConfigMaps and Secrets.
const (
	// reasonUnused is the reason of the Event about an object that the server has marked: no object refers to it, and the server will delete it.
	reasonUnused = "Unused"
	// reasonUsed is the reason of the Event about an object that the server had marked, and that stays.
	reasonUsed = "Used"
	// reasonCollected is the reason of the Event about an object that the server has deleted because no object referred to it.
	reasonCollected = "Collected"
	// reasonRecreated is the reason of the Event about an object that a client created again after the server had deleted it as unused. It stays.
	reasonRecreated = "Recreated"
	// reasonWaits is the reason of the Event about an unused object that stays while the server does not know all references.
	reasonWaits = "CollectionWaits"
	// reasonRefused is the reason of the Event about an unused object that the server refuses to mark or to delete, because a rule or a webhook keeps
	// it.
	reasonRefused = "CollectionRefused"
	// reasonInvalid is the reason of the Event about an object that is not deleted because an annotation cannot be read.
	reasonInvalid = "CollectionInvalid"
)

// record starts to record Events. The returned function ends it.
func (c *controller) record(ctx context.Context) (stop func()) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.Client.CoreV1().Events("")})
	c.events = broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: manager})
	return broadcaster.Shutdown
}

// event records an Event about an object.
func (c *controller) event(o *object, reason, message string) {
	severity := corev1.EventTypeNormal
	switch reason {
	case reasonRecreated, reasonWaits, reasonRefused, reasonInvalid:
		severity = corev1.EventTypeWarning
	}
	c.events.Event(&corev1.ObjectReference{
		APIVersion: "v1", Kind: o.kind.String(), Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
	}, severity, reason, message)
}

// tell records why an object waits, and an Event if it is another one than before.
func (c *controller) tell(o *object, st *state, waitingFor, reason, message string) {
	c.setWaiting(o.key(), waitingFor)
	if st.told != message {
		st.told = message
		c.event(o, reason, message)
	}
}
