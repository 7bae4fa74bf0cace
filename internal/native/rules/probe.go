package rules

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func probeRules() []rule {
	return []rule{
		onField[corev1.Probe]("initialDelaySeconds", nonNegative[int32]),
		onField[corev1.Probe]("timeoutSeconds", nonNegative[int32]),
		onField[corev1.Probe]("periodSeconds", nonNegative[int32]),
		onField[corev1.Probe]("successThreshold", nonNegative[int32]),
		onField[corev1.Probe]("failureThreshold", nonNegative[int32]),
		onField[corev1.Probe]("terminationGracePeriodSeconds", positive[int64]),
		onStruct(func(r *report, h *corev1.ProbeHandler) { exactlyOneHandler(r, reflect.ValueOf(h).Elem()) }),
		onStruct(func(r *report, h *corev1.LifecycleHandler) { exactlyOneHandler(r, reflect.ValueOf(h).Elem()) }),

		require[corev1.ExecAction]("command", ""),
		require[corev1.HTTPGetAction]("path", ""),
		onField[corev1.HTTPGetAction]("port", portOrName),
		require[corev1.HTTPGetAction]("scheme", ""),
		onField[corev1.TCPSocketAction]("port", portOrName),
		onField[corev1.GRPCAction]("port", port),
		notRequired[corev1.HTTPHeader]("name"),
		notRequired[corev1.HTTPHeader]("value"),
		onField[corev1.HTTPHeader]("name", func(r *report, s string) { r.invalidAll(s, validation.IsHTTPHeaderName(s)) }),
		onStruct(func(r *report, s *corev1.PodSpec) {
			if s.TerminationGracePeriodSeconds == nil {
				return
			}
			for i := range s.InitContainers {
				sleepDuration(r, s.InitContainers[i].Lifecycle, *s.TerminationGracePeriodSeconds, "initContainers", i)
			}
			for i := range s.Containers {
				sleepDuration(r, s.Containers[i].Lifecycle, *s.TerminationGracePeriodSeconds, "containers", i)
			}
		}),
	}
}

// exactlyOneHandler checks that exactly one field of a struct of pointers is set.
func exactlyOneHandler(r *report, handlers reflect.Value) {
	set := 0
	for i := range handlers.NumField() {
		if handlers.Field(i).IsNil() {
			continue
		}
		if set++; set > 1 {
			r.forbidden("may not specify more than 1 handler type", jsonName(handlers.Type().Field(i)))
		}
	}
	if set == 0 {
		r.required("must specify a handler type")
	}
}

// oneSuccess checks that the success threshold of a liveness or startup probe is 1.
func oneSuccess(r *report, p *corev1.Probe, name string) {
	if p != nil && p.SuccessThreshold != 1 {
		r.invalid(p.SuccessThreshold, "must be 1", name, "successThreshold")
	}
}

// noGracePeriod checks that a readiness probe has no grace period: it does not terminate the container.
func noGracePeriod(r *report, p *corev1.Probe) {
	if p != nil && p.TerminationGracePeriodSeconds != nil {
		r.invalid(*p.TerminationGracePeriodSeconds, "must not be set for readinessProbes", "readinessProbe", "terminationGracePeriodSeconds")
	}
}

// sleepDuration checks that the sleep actions of a container do not exceed the grace period of the pod.
func sleepDuration(r *report, l *corev1.Lifecycle, grace int64, at ...any) {
	if l == nil {
		return
	}
	check := func(h *corev1.LifecycleHandler, name string) {
		if h == nil || h.Sleep == nil {
			return
		}
		if s := h.Sleep.Seconds; s < 0 || s > grace {
			r.invalid(s, fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", grace),
				append(at, "lifecycle", name, "sleep")...)
		}
	}
	check(l.PostStart, "postStart")
	check(l.PreStop, "preStop")
}
