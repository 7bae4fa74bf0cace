package columns

import (
	"fmt"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var autoscalerSpec = autoscalingv2.HorizontalPodAutoscalerSpec{}.SwaggerDoc()

var autoscalers = table(name,
	text("Reference", autoscalerSpec["scaleTargetRef"], func(h *autoscalingv2.HorizontalPodAutoscaler) string {
		return h.Spec.ScaleTargetRef.Kind + "/" + h.Spec.ScaleTargetRef.Name
	}),
	text("Targets", autoscalerSpec["metrics"], scalingTargets),
	text("MinPods", autoscalerSpec["minReplicas"], func(h *autoscalingv2.HorizontalPodAutoscaler) string {
		if h.Spec.MinReplicas == nil {
			return unset
		}
		return fmt.Sprint(*h.Spec.MinReplicas)
	}),
	number("MaxPods", autoscalerSpec["maxReplicas"], func(h *autoscalingv2.HorizontalPodAutoscaler) int32 {
		return h.Spec.MaxReplicas
	}),
	number("Replicas", autoscalingv2.HorizontalPodAutoscalerStatus{}.SwaggerDoc()["currentReplicas"],
		func(h *autoscalingv2.HorizontalPodAutoscaler) int32 { return h.Status.CurrentReplicas }),
	age)

// scales is the table of the scale subresource.
var scales = table(name,
	number("Desired", autoscalingv1.ScaleSpec{}.SwaggerDoc()["replicas"], func(s *autoscalingv1.Scale) int32 { return s.Spec.Replicas }),
	number("Available", autoscalingv1.ScaleStatus{}.SwaggerDoc()["replicas"], func(s *autoscalingv1.Scale) int32 { return s.Status.Replicas }),
	age)

// scalingTargets returns "current/target" for the first two metrics, and the number of the others.
func scalingTargets(h *autoscalingv2.HorizontalPodAutoscaler) string {
	if len(h.Spec.Metrics) == 0 {
		return none
	}
	var shown []string
	for i, m := range h.Spec.Metrics {
		if i == 2 {
			return fmt.Sprintf("%s + %d more...", strings.Join(shown, ", "), len(h.Spec.Metrics)-i)
		}
		var current autoscalingv2.MetricStatus
		if i < len(h.Status.CurrentMetrics) {
			current = h.Status.CurrentMetrics[i]
		}
		shown = append(shown, scalingTarget(m, current))
	}
	return strings.Join(shown, ", ")
}

func scalingTarget(m autoscalingv2.MetricSpec, s autoscalingv2.MetricStatus) string {
	switch {
	case m.Type == autoscalingv2.ExternalMetricSourceType && m.External != nil:
		return valueOrAverage(m.External.Target, deref(s.External).Current)
	case m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil:
		return valueOrAverage(m.Object.Target, deref(s.Object).Current)
	case m.Type == autoscalingv2.PodsMetricSourceType && m.Pods != nil:
		return quantity(deref(s.Pods).Current.AverageValue) + "/" + quantity(m.Pods.Target.AverageValue)
	case m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil:
		return fmt.Sprintf("%s: %s", m.Resource.Name, usage(m.Resource.Target, deref(s.Resource).Current))
	case m.Type == autoscalingv2.ContainerResourceMetricSourceType && m.ContainerResource != nil:
		return fmt.Sprintf("%s: %s", m.ContainerResource.Name, usage(m.ContainerResource.Target, deref(s.ContainerResource).Current))
	}
	return "<unknown type>"
}

func valueOrAverage(target autoscalingv2.MetricTarget, current autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return quantity(current.AverageValue) + "/" + quantity(target.AverageValue) + " (avg)"
	}
	return quantity(current.Value) + "/" + quantity(target.Value)
}

func usage(target autoscalingv2.MetricTarget, current autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return quantity(current.AverageValue) + "/" + quantity(target.AverageValue)
	}
	return percent(current.AverageUtilization, unknown) + "/" + percent(target.AverageUtilization, "<auto>")
}

func quantity(q *resource.Quantity) string {
	if q == nil {
		return unknown
	}
	return q.String()
}

func percent(value *int32, absent string) string {
	if value == nil {
		return absent
	}
	return fmt.Sprintf("%d%%", *value)
}

var disruptionBudgets = table(name,
	text("Min Available", "Pods that must stay available", func(b *policyv1.PodDisruptionBudget) string {
		return amount(b.Spec.MinAvailable)
	}),
	text("Max Unavailable", "Pods that may be unavailable", func(b *policyv1.PodDisruptionBudget) string {
		return amount(b.Spec.MaxUnavailable)
	}),
	number("Allowed Disruptions", "Pods that may be evicted now", func(b *policyv1.PodDisruptionBudget) int32 {
		return b.Status.DisruptionsAllowed
	}),
	age)

func amount(value *intstr.IntOrString) string {
	if value == nil {
		return "N/A"
	}
	return value.String()
}
