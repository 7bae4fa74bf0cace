package rules

import (
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// metricSources are the sources of a metric.
var metricSources = newUnion[autoscalingv2.MetricSpec]("object", "external", "pods", "resource", "containerResource")

func autoscalingRules() []rule {
	return slices.Concat(metricSources.rules(), []rule{
		onField[autoscalingv2.HorizontalPodAutoscalerSpec]("minReplicas", func(r *report, n int32) {
			if n < 1 {
				r.invalid(n, "must be greater than or equal to 1")
			}
		}),
		onField[autoscalingv2.HorizontalPodAutoscalerSpec]("maxReplicas", func(r *report, n int32) {
			switch {
			case n == 0:
				r.required("must be set and greater than 0")
			case n < 0:
				r.invalid(n, "must be greater than or equal to 1")
			}
		}),
		onStruct(func(r *report, s *autoscalingv2.HorizontalPodAutoscalerSpec) {
			if s.MinReplicas != nil && s.MaxReplicas < *s.MinReplicas {
				r.invalid(s.MaxReplicas, "must be greater than or equal to `minReplicas`", "maxReplicas")
			}
		}),
		onField[autoscalingv1.ScaleSpec]("replicas", nonNegative[int32]),
		onField[autoscalingv2.CrossVersionObjectReference]("kind", validString[string](content.IsPathSegmentName)),
		onField[autoscalingv2.CrossVersionObjectReference]("name", validString[string](content.IsPathSegmentName)),

		onStruct(scaleTarget),

		onField[autoscalingv2.MetricSpec]("type", func(r *report, t autoscalingv2.MetricSourceType) {
			if t == "" {
				r.required("must specify a metric source type")
			}
		}),
		exactly[autoscalingv2.MetricSpec]("type", "ContainerResource", "External", "Object", "Pods", "Resource"),
		onStruct(metricSource),
		onStruct(scaleToZero),
		require[autoscalingv2.ResourceMetricSource]("name", "must specify a resource name"),
		require[autoscalingv2.ContainerResourceMetricSource]("name", "must specify a resource name"),
		onField[autoscalingv2.ContainerResourceMetricSource]("name", func(r *report, name corev1.ResourceName) {
			if name != "" {
				containerResource(r, name)
			}
		}),
		require[autoscalingv2.ContainerResourceMetricSource]("container", "must specify a container"),
		onField[autoscalingv2.ContainerResourceMetricSource]("container", dnsLabel),
		require[autoscalingv2.MetricIdentifier]("name", "must specify a metric name"),
		skip[autoscalingv2.MetricIdentifier]("selector"), // as in Kubernetes
		onField[autoscalingv2.MetricIdentifier]("name", validString[string](content.IsPathSegmentName)),

		onField[autoscalingv2.MetricTarget]("type", func(r *report, t autoscalingv2.MetricTargetType) {
			if t == "" {
				r.required("must specify a metric target type")
			}
		}),
		notRequired[autoscalingv2.MetricTarget]("type"),
		oneOf[autoscalingv2.MetricTarget]("type"),
		onStruct(metricTarget),
		onStruct(func(r *report, s *autoscalingv2.ResourceMetricSource) { resourceTarget(r, &s.Target) }),
		onStruct(func(r *report, s *autoscalingv2.ContainerResourceMetricSource) { resourceTarget(r, &s.Target) }),
		onStruct(func(r *report, s *autoscalingv2.PodsMetricSource) {
			if s.Target.AverageValue == nil {
				r.required("must specify a positive target averageValue", "target", "averageValue")
			}
		}),
		onStruct(func(r *report, s *autoscalingv2.ObjectMetricSource) {
			if s.Target.Value == nil && s.Target.AverageValue == nil {
				r.required("must set either a target value or averageValue", "target", "averageValue")
			}
		}),
		onStruct(func(r *report, s *autoscalingv2.ExternalMetricSource) { valueTarget(r, &s.Target) }),

		onField[autoscalingv2.HPAScalingRules]("stabilizationWindowSeconds", func(r *report, n int32) {
			switch {
			case n < 0:
				r.invalid(n, "must be greater than or equal to zero")
			case n > 3600:
				r.invalid(n, "must be less than or equal to 3600")
			}
		}),
		oneOf[autoscalingv2.HPAScalingRules]("selectPolicy", "Disabled", "Max", "Min"),
		require[autoscalingv2.HPAScalingRules]("policies", "must specify at least one Policy"),
		exactly[autoscalingv2.HPAScalingPolicy]("type", "Percent", "Pods"),
		onField[autoscalingv2.HPAScalingRules]("tolerance", quantity),
		onField[autoscalingv2.HPAScalingPolicy]("value", aboveZero),
		onField[autoscalingv2.HPAScalingPolicy]("periodSeconds", aboveZero, func(r *report, n int32) {
			if n > 1800 {
				r.invalid(n, "must be less than or equal to 1800")
			}
		}),
	})
}

// metricSource checks that a metric has the source for its type and no other one.
func metricSource(r *report, m *autoscalingv2.MetricSpec) {
	expected := map[autoscalingv2.MetricSourceType]string{
		autoscalingv2.ObjectMetricSourceType: "object", autoscalingv2.PodsMetricSourceType: "pods",
		autoscalingv2.ResourceMetricSourceType: "resource", autoscalingv2.ContainerResourceMetricSourceType: "containerResource",
		autoscalingv2.ExternalMetricSourceType: "external",
	}[m.Type]
	set := metricSources.set(m)
	if expected != "" && !slices.Contains(set, expected) {
		r.required("must populate information for the given metric source", expected)
	}
	if len(set) == 1 {
		return // Kubernetes accepts another source than that of the type
	}
	for _, name := range set {
		if name != expected {
			r.forbidden("must populate the given metric source only", name)
		}
	}
}

// scaleToZero checks that an autoscaler without pods has a metric that does not need pods.
func scaleToZero(r *report, s *autoscalingv2.HorizontalPodAutoscalerSpec) {
	isOutside := func(m autoscalingv2.MetricSpec) bool {
		return m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
	}
	if s.MinReplicas != nil && *s.MinReplicas == 0 && !slices.ContainsFunc(s.Metrics, isOutside) {
		r.forbidden("must specify at least one Object or External metric to support scaling to zero replicas", "metrics")
	}
}

func metricTarget(r *report, t *autoscalingv2.MetricTarget) {
	switch t.Type {
	case autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType:
	default:
		r.invalid(t.Type, "must be either Utilization, Value, or AverageValue", "type")
	}
	if t.Value != nil && t.Value.Sign() != 1 {
		r.invalid(*t.Value, "must be positive", "value")
	}
	if t.AverageValue != nil && t.AverageValue.Sign() != 1 {
		r.invalid(*t.AverageValue, "must be positive", "averageValue")
	}
	if t.AverageUtilization != nil && *t.AverageUtilization < 1 {
		r.invalid(*t.AverageUtilization, "must be greater than 0", "averageUtilization")
	}
}

// resourceTarget checks that the target of a resource metric is either a utilization or an average value.
func resourceTarget(r *report, t *autoscalingv2.MetricTarget) {
	switch {
	case t.AverageUtilization == nil && t.AverageValue == nil:
		r.required("must set either a target raw value or a target utilization", "target", "averageUtilization")
	case t.AverageUtilization != nil && t.AverageValue != nil:
		r.forbidden("may not set both a target raw value and a target utilization", "target", "averageValue")
	}
}

// valueTarget checks that the target of an external metric is either a value or an average value.
func valueTarget(r *report, t *autoscalingv2.MetricTarget) {
	switch {
	case t.Value == nil && t.AverageValue == nil:
		r.required("must set either a target value for metric or a per-pod target", "target", "averageValue")
	case t.Value != nil && t.AverageValue != nil:
		r.forbidden("may not set both a target value for metric and a per-pod target", "target", "value")
	}
}

// scaleTarget checks the version of the object that is scaled. It must name an API group, because no kind of the core group
// but ReplicationController can be scaled. An update may keep another one.
func scaleTarget(r *report, s *autoscalingv2.HorizontalPodAutoscalerSpec) {
	if old, ok := r.old.(*autoscalingv2.HorizontalPodAutoscaler); ok &&
		old.Spec.ScaleTargetRef.APIVersion == s.ScaleTargetRef.APIVersion && old.Spec.ScaleTargetRef.Kind == s.ScaleTargetRef.Kind {
		return
	}
	version, err := schema.ParseGroupVersion(s.ScaleTargetRef.APIVersion)
	switch {
	case err != nil:
		r.invalid(s.ScaleTargetRef.APIVersion, err.Error(), "scaleTargetRef", "apiVersion")
	case version.Group == "" && s.ScaleTargetRef.Kind != "ReplicationController":
		r.invalid(s.ScaleTargetRef.APIVersion, "apiVersion must specify API group", "scaleTargetRef", "apiVersion")
	}
}
