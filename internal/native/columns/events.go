package columns

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var eventDoc = corev1.Event{}.SwaggerDoc()

var events = table(
	timed("Last Seen", eventDoc["lastTimestamp"], func(e *corev1.Event, now time.Time) string {
		return ageOf(lastSeen(e), now)
	}),
	text("Type", eventDoc["type"], func(e *corev1.Event) string { return e.Type }),
	text("Reason", eventDoc["reason"], func(e *corev1.Event) string { return e.Reason }),
	text("Object", eventDoc["involvedObject"], func(e *corev1.Event) string {
		kind := strings.ToLower(e.InvolvedObject.Kind)
		if e.InvolvedObject.Name == "" {
			return kind
		}
		return kind + "/" + e.InvolvedObject.Name
	}),
	text("Subobject", corev1.ObjectReference{}.SwaggerDoc()["fieldPath"], func(e *corev1.Event) string {
		return e.InvolvedObject.FieldPath
	}).wide(),
	text("Source", eventDoc["source"], func(e *corev1.Event) string {
		source := stringOr(e.Source.Component, e.ReportingController)
		if instance := stringOr(e.Source.Host, e.ReportingInstance); instance != "" {
			source += ", " + instance
		}
		return source
	}).wide(),
	text("Message", eventDoc["message"], func(e *corev1.Event) string { return strings.TrimSpace(e.Message) }),
	timed("First Seen", eventDoc["firstTimestamp"], func(e *corev1.Event, now time.Time) string {
		return ageOf(firstSeen(e), now)
	}).wide(),
	number("Count", eventDoc["count"], func(e *corev1.Event) int32 {
		if e.Series != nil {
			return e.Series.Count
		}
		// Events of events.k8s.io without a series have no count; they happened once.
		return max(e.Count, 1)
	}).wide(),
	name.wide())

func firstSeen(e *corev1.Event) time.Time {
	if e.FirstTimestamp.IsZero() {
		return e.EventTime.Time
	}
	return e.FirstTimestamp.Time
}

func lastSeen(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case e.LastTimestamp.IsZero():
		return firstSeen(e)
	}
	return e.LastTimestamp.Time
}

// eventsV1 prints the Events of events.k8s.io like core Events: both have the same content with different field names.
var eventsV1 = Table{
	Columns: events.Columns,
	row: func(obj runtime.Object, now time.Time) []any {
		e := obj.(*eventsv1.Event)
		shown := &corev1.Event{
			ObjectMeta:          e.ObjectMeta,
			InvolvedObject:      e.Regarding,
			Reason:              e.Reason,
			Message:             e.Note,
			Source:              e.DeprecatedSource,
			FirstTimestamp:      e.DeprecatedFirstTimestamp,
			LastTimestamp:       e.DeprecatedLastTimestamp,
			Count:               e.DeprecatedCount,
			Type:                e.Type,
			EventTime:           e.EventTime,
			ReportingController: e.ReportingController,
			ReportingInstance:   e.ReportingInstance,
		}
		if e.Series != nil {
			shown.Series = &corev1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
		}
		return events.Cells(shown, now)
	},
}
