package rules

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func probeRules() []rule {
	return slices.Concat(probeHandlers.rules(), lifecycleHandlers.rules(), []rule{
		onField[corev1.Probe]("initialDelaySeconds", nonNegative[int32]),
		onField[corev1.Probe]("timeoutSeconds", nonNegative[int32]),
		onField[corev1.Probe]("periodSeconds", nonNegative[int32]),
		onField[corev1.Probe]("successThreshold", nonNegative[int32]),
		onField[corev1.Probe]("failureThreshold", nonNegative[int32]),
		onField[corev1.Probe]("terminationGracePeriodSeconds", positive[int64]),
		onStruct(func(r *report, h *corev1.ProbeHandler) { oneHandler(r, probeHandlers.set(h)) }),
		onStruct(func(r *report, h *corev1.LifecycleHandler) { oneHandler(r, lifecycleHandlers.set(h)) }),

		require[corev1.ExecAction]("command", ""),
		require[corev1.HTTPGetAction]("path", ""),
		onField[corev1.HTTPGetAction]("port", portOrName),
		onField[corev1.TCPSocketAction]("port", portOrName),
		onField[corev1.GRPCAction]("port", port),
		notRequired[corev1.HTTPHeader]("name"),
		notRequired[corev1.HTTPHeader]("value"),
		// As in Kubernetes, an error has the path of the list.
		onField[corev1.HTTPGetAction]("httpHeaders", func(r *report, headers []corev1.HTTPHeader) {
			for _, h := range headers {
				r.invalidAll(h.Name, validation.IsHTTPHeaderName(h.Name))
			}
		}),
		onStruct(sleepAction),
		when("stopSignal", func(r *report, _ *corev1.Lifecycle) bool { return r.pod.OS != nil && r.pod.OS.Name == corev1.Linux }),
		onStruct(stopSignal),
	})
}

// The handlers of probes and lifecycle hooks.
var (
	probeHandlers     = newUnion[corev1.ProbeHandler]()
	lifecycleHandlers = newUnion[corev1.LifecycleHandler]()
)

// oneHandler checks that exactly one handler is set.
func oneHandler(r *report, set []string) {
	if len(set) == 0 {
		r.required("must specify a handler type")
		return
	}
	for _, name := range set[1:] {
		r.forbidden("may not specify more than 1 handler type", name)
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

// sleepAction checks that a lifecycle hook does not sleep longer than the grace period of the pod.
func sleepAction(r *report, s *corev1.SleepAction) {
	if grace := r.pod.TerminationGracePeriodSeconds; grace != nil && (s.Seconds < 0 || s.Seconds > *grace) {
		r.invalid(s.Seconds, fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))
	}
}

// stopSignal checks the signal that stops a container. The schema has the signals of Linux, so this is for pods of other systems.
func stopSignal(r *report, l *corev1.Lifecycle) {
	windows := []string{string(corev1.SIGKILL), string(corev1.SIGTERM)}
	switch {
	case l.StopSignal == nil:
	case r.pod.OS == nil:
		r.forbidden("may not be set for containers with empty `spec.os.name`", "stopSignal")
	case r.pod.OS.Name == corev1.Windows && !slices.Contains(windows, string(*l.StopSignal)):
		r.unsupported(*l.StopSignal, windows, "stopSignal")
	}
}
