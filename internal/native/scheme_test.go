package native_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/native"
)

// TestSchemeKnowsEveryKind checks that the scheme has every kind in all its versions, and that
// the internal type is the Go type of the kind, so that conversions cost nothing.
func TestSchemeKnowsEveryKind(t *testing.T) {
	scheme := native.NewScheme()
	for _, kind := range native.Kinds() {
		for _, gv := range append([]schema.GroupVersion{kind.GroupVersion}, kind.OtherVersions...) {
			if !scheme.Recognizes(gv.WithKind(kind.Name())) {
				t.Errorf("%s is not registered in %s", kind.Name(), gv)
			}
			internal := schema.GroupVersion{Group: gv.Group, Version: runtime.APIVersionInternal}
			obj, err := scheme.New(internal.WithKind(kind.Name()))
			if err != nil {
				t.Error(err)
				continue
			}
			if got, want := typeName(obj), typeName(kind.Object); got != want {
				t.Errorf("internal %s of %q is %s, want %s", kind.Name(), gv.Group, got, want)
			}
		}
	}
}

func typeName(obj runtime.Object) string { return reflect.TypeOf(obj).String() }

// TestSelectableLabels checks which field labels can be used in selectors, and how those of
// events.k8s.io are converted.
func TestSelectableLabels(t *testing.T) {
	scheme := native.NewScheme()
	cases := map[string]struct {
		kind         schema.GroupVersionKind
		label, value string
		want         string
		err          string
	}{
		"pod by node":    {corev1.SchemeGroupVersion.WithKind("Pod"), "spec.nodeName", "n", "spec.nodeName", ""},
		"pod by name":    {corev1.SchemeGroupVersion.WithKind("Pod"), "metadata.name", "p", "metadata.name", ""},
		"pod by image":   {corev1.SchemeGroupVersion.WithKind("Pod"), "spec.image", "i", "", "field label not supported: spec.image"},
		"secret by type": {corev1.SchemeGroupVersion.WithKind("Secret"), "type", "Opaque", "type", ""},
		"config map by data": {
			corev1.SchemeGroupVersion.WithKind("ConfigMap"), "data", "d", "",
			`"data" is not a known field selector: only "metadata.name", "metadata.namespace"`,
		},
		"event, new name":   {eventsv1.SchemeGroupVersion.WithKind("Event"), "regarding.name", "p", "involvedObject.name", ""},
		"event, controller": {eventsv1.SchemeGroupVersion.WithKind("Event"), "reportingController", "c", "reportingComponent", ""},
		"event, unknown":    {eventsv1.SchemeGroupVersion.WithKind("Event"), "note", "c", "", "field label not supported: note"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			label, value, err := scheme.ConvertFieldLabel(c.kind, c.label, c.value)
			if err != nil {
				if err.Error() != c.err {
					t.Errorf("got %q, want %q", err, c.err)
				}
				return
			}
			if label != c.want || value != c.value || c.err != "" {
				t.Errorf("got %s=%s, want %s, error %q", label, value, c.want, c.err)
			}
		})
	}
}

// TestConversionRoundTrip checks that an object that is converted to its other version and
// back is unchanged.
func TestConversionRoundTrip(t *testing.T) {
	scheme := native.NewScheme()
	fill := randfill.NewWithSeed(1).NilChance(0.3).NumElements(1, 2)
	for range 100 {
		event, converted, back := &corev1.Event{}, &eventsv1.Event{}, &corev1.Event{}
		fill.Fill(event)
		event.TypeMeta.Kind, event.TypeMeta.APIVersion = "", ""
		if err := scheme.Convert(event, converted, nil); err != nil {
			t.Fatal(err)
		}
		if err := scheme.Convert(converted, back, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(event, back); diff != "" {
			t.Fatalf("event (-want +got):\n%s", diff)
		}
	}
	const manifest = `
metadata: {name: web, annotations: {a: b}}
spec:
  scaleTargetRef: {kind: Deployment, name: web, apiVersion: apps/v1}
  minReplicas: 2
  maxReplicas: 5
  behavior: {scaleDown: {stabilizationWindowSeconds: 60, selectPolicy: Max, policies: [{type: Pods, value: 1, periodSeconds: 15}]}}
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}
  - type: Resource
    resource: {name: memory, target: {type: Utilization, averageUtilization: 50}}
status: {desiredReplicas: 3, currentMetrics: [{type: Resource, resource: {name: cpu, current: {averageUtilization: 65}}}]}
`
	autoscaler, back := &autoscalingv2.HorizontalPodAutoscaler{}, &autoscalingv2.HorizontalPodAutoscaler{}
	converted := &autoscalingv1.HorizontalPodAutoscaler{}
	if err := yaml.UnmarshalStrict([]byte(manifest), autoscaler); err != nil {
		t.Fatal(err)
	}
	scheme.Default(autoscaler)
	if err := scheme.Convert(autoscaler, converted, nil); err != nil {
		t.Fatal(err)
	}
	if got := *converted.Spec.TargetCPUUtilizationPercentage; got != 70 {
		t.Errorf("v1 shows a target of %d", got)
	}
	if got := *converted.Status.CurrentCPUUtilizationPercentage; got != 65 {
		t.Errorf("v1 shows a current value of %d", got)
	}
	if err := scheme.Convert(converted, back, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(autoscaler, back); diff != "" {
		t.Errorf("autoscaler (-want +got):\n%s", diff)
	}
}

// TestPublishedScheme checks that the published scheme has no internal types.
func TestPublishedScheme(t *testing.T) {
	for gvk := range native.NewPublishedScheme().AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal && gvk.Kind != "WatchEvent" {
			t.Errorf("internal type %s is published", gvk)
		}
	}
}
