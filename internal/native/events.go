package native

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// addEventConversions adds the conversions between the Events of events.k8s.io and those of
// the core group. Both have the same content with different field names. The server stores
// core Events.
func addEventConversions(s *runtime.Scheme) error {
	internal := schema.GroupVersion{Group: eventsv1.GroupName, Version: runtime.APIVersionInternal}
	s.AddKnownTypes(internal, &corev1.Event{}, &corev1.EventList{})

	if err := addConversion(s, toCoreEvent); err != nil {
		return err
	}
	if err := addConversion(s, fromCoreEvent); err != nil {
		return err
	}
	if err := addConversion(s, func(in *eventsv1.EventList, out *corev1.EventList) (err error) {
		out.ListMeta = in.ListMeta
		out.Items, err = convertItems(in.Items, toCoreEvent)
		return err
	}); err != nil {
		return err
	}
	if err := addConversion(s, func(in *corev1.EventList, out *eventsv1.EventList) (err error) {
		out.ListMeta = in.ListMeta
		out.Items, err = convertItems(in.Items, fromCoreEvent)
		return err
	}); err != nil {
		return err
	}
	return s.AddFieldLabelConversionFunc(eventsv1.SchemeGroupVersion.WithKind("Event"), eventLabels)
}

func toCoreEvent(in *eventsv1.Event, out *corev1.Event) error {
	out.ObjectMeta = in.ObjectMeta
	out.EventTime = in.EventTime
	out.ReportingController, out.ReportingInstance = in.ReportingController, in.ReportingInstance
	out.Action, out.Reason, out.Message, out.Type = in.Action, in.Reason, in.Note, in.Type
	out.InvolvedObject, out.Related = in.Regarding, in.Related
	out.Source = in.DeprecatedSource
	out.FirstTimestamp, out.LastTimestamp = in.DeprecatedFirstTimestamp, in.DeprecatedLastTimestamp
	out.Count = in.DeprecatedCount
	out.Series = nil
	if in.Series != nil {
		out.Series = &corev1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
	}
	return nil
}

func fromCoreEvent(in *corev1.Event, out *eventsv1.Event) error {
	out.ObjectMeta = in.ObjectMeta
	out.EventTime = in.EventTime
	out.ReportingController, out.ReportingInstance = in.ReportingController, in.ReportingInstance
	out.Action, out.Reason, out.Note, out.Type = in.Action, in.Reason, in.Message, in.Type
	out.Regarding, out.Related = in.InvolvedObject, in.Related
	out.DeprecatedSource = in.Source
	out.DeprecatedFirstTimestamp, out.DeprecatedLastTimestamp = in.FirstTimestamp, in.LastTimestamp
	out.DeprecatedCount = in.Count
	out.Series = nil
	if in.Series != nil {
		out.Series = &eventsv1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
	}
	return nil
}

// eventLabels converts the field labels of events.k8s.io to those of core Events.
func eventLabels(label, value string) (string, string, error) {
	stored := label
	switch {
	case strings.HasPrefix(label, "regarding."):
		stored = "involvedObject." + strings.TrimPrefix(label, "regarding.")
	case label == "reportingController":
		stored = "reportingComponent"
	}
	if _, known := eventFields(&corev1.Event{})[stored]; !known && stored != "metadata.name" && stored != "metadata.namespace" {
		return "", "", fmt.Errorf("field label not supported: %s", label)
	}
	return stored, value, nil
}
