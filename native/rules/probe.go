package rules

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func probeRules() []rule {
	return []rule{
		on[corev1.Probe]("initialDelaySeconds", nonNegative[int32]),
		on[corev1.Probe]("timeoutSeconds", nonNegative[int32]),
		on[corev1.Probe]("periodSeconds", nonNegative[int32]),
		on[corev1.Probe]("successThreshold", nonNegative[int32]),
		on[corev1.Probe]("failureThreshold", nonNegative[int32]),
		on[corev1.Probe]("terminationGracePeriodSeconds", positive[int64]),
		each(func(r *report, h *corev1.ProbeHandler) { oneHandler(r, reflect.ValueOf(h).Elem()) }),
		each(func(r *report, h *corev1.LifecycleHandler) { oneHandler(r, reflect.ValueOf(h).Elem()) }),

		need[corev1.ExecAction]("command", ""),
		need[corev1.HTTPGetAction]("path", ""),
		on[corev1.HTTPGetAction]("port", portOrName),
		need[corev1.HTTPGetAction]("scheme", ""),
		on[corev1.TCPSocketAction]("port", portOrName),
		on[corev1.GRPCAction]("port", port),
		free[corev1.HTTPHeader]("name"),
		free[corev1.HTTPHeader]("value"),
		on[corev1.HTTPHeader]("name", func(r *report, s string) { r.says(s, validation.IsHTTPHeaderName(s)) }),
		each(func(r *report, s *corev1.PodSpec) {
			if s.TerminationGracePeriodSeconds == nil {
				return
			}
			for i := range s.InitContainers {
				sleeps(r, s.InitContainers[i].Lifecycle, *s.TerminationGracePeriodSeconds, "initContainers", i)
			}
			for i := range s.Containers {
				sleeps(r, s.Containers[i].Lifecycle, *s.TerminationGracePeriodSeconds, "containers", i)
			}
		}),
	}
}

// oneHandler holds a struct of pointers to exactly one that is set.
func oneHandler(r *report, handlers reflect.Value) {
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

// aliveProbe holds a liveness or startup probe to its one success.
func aliveProbe(r *report, p *corev1.Probe, name string) {
	if p != nil && p.SuccessThreshold != 1 {
		r.invalid(p.SuccessThreshold, "must be 1", name, "successThreshold")
	}
}

// readyProbe refuses a grace period where nothing is terminated.
func readyProbe(r *report, p *corev1.Probe) {
	if p != nil && p.TerminationGracePeriodSeconds != nil {
		r.invalid(*p.TerminationGracePeriodSeconds, "must not be set for readinessProbes", "readinessProbe", "terminationGracePeriodSeconds")
	}
}

// sleeps holds the pauses of a container's hooks to the time the pod has to end.
func sleeps(r *report, l *corev1.Lifecycle, grace int64, at ...any) {
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
