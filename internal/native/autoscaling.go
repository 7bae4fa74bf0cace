package native

import (
	"encoding/json"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// v2Annotation is an annotation of autoscaling/v1 objects. It holds the fields that exist
// only in autoscaling/v2, so that a client that reads and writes v1 loses nothing.
const v2Annotation = "holdfast.dev/autoscaling-v2"

// v2Fields is the content of v2Annotation.
type v2Fields struct {
	Metrics        []autoscalingv2.MetricSpec                       `json:"metrics,omitempty"`
	Behavior       *autoscalingv2.HorizontalPodAutoscalerBehavior   `json:"behavior,omitempty"`
	CurrentMetrics []autoscalingv2.MetricStatus                     `json:"currentMetrics,omitempty"`
	Conditions     []autoscalingv2.HorizontalPodAutoscalerCondition `json:"conditions,omitempty"`
}

// addAutoscalerConversions adds the conversions between autoscaling/v1, which kubectl writes
// up to version 1.33, and autoscaling/v2, which is stored. The only metric that v1 has is
// the CPU target.
func addAutoscalerConversions(s *runtime.Scheme) error {
	//nolint:unparam // addConversion needs the error in the signature
	toV2 := func(in *autoscalingv1.HorizontalPodAutoscaler, out *autoscalingv2.HorizontalPodAutoscaler) error {
		toAutoscalerV2(in, out)
		s.Default(out)
		return nil
	}
	if err := addConversion(s, toV2); err != nil {
		return err
	}
	if err := addConversion(s, toAutoscalerV1); err != nil {
		return err
	}
	type (
		v1List = autoscalingv1.HorizontalPodAutoscalerList
		v2List = autoscalingv2.HorizontalPodAutoscalerList
	)
	if err := addConversion(s, func(in *v1List, out *v2List) (err error) {
		out.ListMeta = in.ListMeta
		out.Items, err = convertItems(in.Items, toV2)
		return err
	}); err != nil {
		return err
	}
	return addConversion(s, func(in *v2List, out *v1List) (err error) {
		out.ListMeta = in.ListMeta
		out.Items, err = convertItems(in.Items, toAutoscalerV1)
		return err
	})
}

// addConversion registers a conversion with typed arguments.
func addConversion[From, To any](s *runtime.Scheme, convert func(*From, *To) error) error {
	return s.AddConversionFunc((*From)(nil), (*To)(nil), func(in, out any, _ conversion.Scope) error {
		return convert(in.(*From), out.(*To))
	})
}

// convertItems converts the items of a list.
func convertItems[From, To any](items []From, convert func(*From, *To) error) ([]To, error) {
	converted := make([]To, len(items))
	for i := range items {
		if err := convert(&items[i], &converted[i]); err != nil {
			return nil, err
		}
	}
	return converted, nil
}

func toAutoscalerV2(in *autoscalingv1.HorizontalPodAutoscaler, out *autoscalingv2.HorizontalPodAutoscaler) {
	var rest v2Fields
	out.ObjectMeta = in.ObjectMeta
	if text, ok := in.Annotations[v2Annotation]; ok {
		// Ignore an annotation that is not valid JSON, rather than reject the object.
		if err := json.Unmarshal([]byte(text), &rest); err != nil {
			rest = v2Fields{}
		}
		out.Annotations = maps.Clone(in.Annotations)
		delete(out.Annotations, v2Annotation)
	}
	out.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
		MinReplicas:    in.Spec.MinReplicas,
		MaxReplicas:    in.Spec.MaxReplicas,
		Behavior:       rest.Behavior,
	}
	if percent := in.Spec.TargetCPUUtilizationPercentage; percent != nil {
		out.Spec.Metrics = append(out.Spec.Metrics, autoscalingv2.MetricSpec{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{
				Name:   corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: percent},
			},
		})
	}
	out.Spec.Metrics = append(out.Spec.Metrics, rest.Metrics...)
	out.Status = autoscalingv2.HorizontalPodAutoscalerStatus{
		ObservedGeneration: in.Status.ObservedGeneration,
		LastScaleTime:      in.Status.LastScaleTime,
		CurrentReplicas:    in.Status.CurrentReplicas,
		DesiredReplicas:    in.Status.DesiredReplicas,
		CurrentMetrics:     rest.CurrentMetrics,
		Conditions:         rest.Conditions,
	}
	percent := in.Status.CurrentCPUUtilizationPercentage
	if percent == nil {
		return
	}
	for i := range out.Status.CurrentMetrics {
		if metric := out.Status.CurrentMetrics[i].Resource; metric != nil && metric.Name == corev1.ResourceCPU {
			metric.Current.AverageUtilization = percent
			return
		}
	}
	out.Status.CurrentMetrics = append(out.Status.CurrentMetrics, autoscalingv2.MetricStatus{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricStatus{
			Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: percent},
		},
	})
}

func toAutoscalerV1(in *autoscalingv2.HorizontalPodAutoscaler, out *autoscalingv1.HorizontalPodAutoscaler) error {
	out.ObjectMeta = in.ObjectMeta
	out.Spec = autoscalingv1.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
		MinReplicas:    in.Spec.MinReplicas,
		MaxReplicas:    in.Spec.MaxReplicas,
	}
	out.Status = autoscalingv1.HorizontalPodAutoscalerStatus{
		ObservedGeneration: in.Status.ObservedGeneration,
		LastScaleTime:      in.Status.LastScaleTime,
		CurrentReplicas:    in.Status.CurrentReplicas,
		DesiredReplicas:    in.Status.DesiredReplicas,
	}
	rest := v2Fields{Behavior: in.Spec.Behavior, CurrentMetrics: in.Status.CurrentMetrics, Conditions: in.Status.Conditions}
	for i := range in.Spec.Metrics {
		if percent := cpuPercent(&in.Spec.Metrics[i]); percent != nil && out.Spec.TargetCPUUtilizationPercentage == nil {
			out.Spec.TargetCPUUtilizationPercentage = percent
			continue
		}
		rest.Metrics = append(rest.Metrics, in.Spec.Metrics[i])
	}
	for i := range in.Status.CurrentMetrics {
		if metric := in.Status.CurrentMetrics[i].Resource; metric != nil && metric.Name == corev1.ResourceCPU {
			out.Status.CurrentCPUUtilizationPercentage = metric.Current.AverageUtilization
		}
	}
	text, err := json.Marshal(rest)
	if err != nil || string(text) == "{}" {
		return err
	}
	out.Annotations = maps.Clone(in.Annotations)
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[v2Annotation] = string(text)
	return nil
}

// cpuPercent returns the target of a metric for the average CPU utilization, or nil if it is
// another metric.
func cpuPercent(metric *autoscalingv2.MetricSpec) *int32 {
	source := metric.Resource
	if metric.Type != autoscalingv2.ResourceMetricSourceType || source == nil || source.Name != corev1.ResourceCPU {
		return nil
	}
	return source.Target.AverageUtilization
}
