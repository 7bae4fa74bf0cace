package columns

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var pods = table(name,
	text("Ready", "Containers that are ready, of all", func(p *corev1.Pod) string {
		s := podStateOf(p)
		return fmt.Sprintf("%d/%d", s.ready, s.containers)
	}),
	text("Status", "What the pod is doing, or what holds it up", func(p *corev1.Pod) string {
		return podStateOf(p).reason
	}),
	timed("Restarts", "How often containers were restarted, and when last",
		func(p *corev1.Pod, now time.Time) string {
			r := podStateOf(p).restarts
			if r.count != 0 && !r.last.IsZero() {
				return fmt.Sprintf("%d (%s ago)", r.count, ageOf(r.last.Time, now))
			}
			return fmt.Sprint(r.count)
		}),
	age,
	text("IP", corev1.PodStatus{}.SwaggerDoc()["podIP"], func(p *corev1.Pod) string {
		if len(p.Status.PodIPs) == 0 {
			return none
		}
		return stringOr(p.Status.PodIPs[0].IP, none)
	}).wide(),
	text("Node", corev1.PodSpec{}.SwaggerDoc()["nodeName"], func(p *corev1.Pod) string {
		return stringOr(p.Spec.NodeName, none)
	}).wide(),
	text("Nominated Node", corev1.PodStatus{}.SwaggerDoc()["nominatedNodeName"], func(p *corev1.Pod) string {
		return stringOr(p.Status.NominatedNodeName, none)
	}).wide(),
	text("Readiness Gates", corev1.PodSpec{}.SwaggerDoc()["readinessGates"], readinessGates).wide())

func readinessGates(p *corev1.Pod) string {
	if len(p.Spec.ReadinessGates) == 0 {
		return none
	}
	open := 0
	for _, gate := range p.Spec.ReadinessGates {
		if conditionIsTrue(p, gate.ConditionType) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(p.Spec.ReadinessGates))
}

// podState is the content of the columns Ready, Status and Restarts.
type podState struct {
	reason            string
	ready, containers int
	restarts          restarts
}

type restarts struct {
	count int32
	last  metav1.Time
}

func (r *restarts) add(c corev1.ContainerStatus) {
	r.count += c.RestartCount
	if ended := c.LastTerminationState.Terminated; ended != nil && r.last.Before(&ended.FinishedAt) {
		r.last = ended.FinishedAt
	}
}

// podStateOf computes the state of a pod as kube-apiserver does. The reason is the first of these:
//
//   - Terminating, if the pod is being deleted and has not ended, or Unknown, if its node is lost.
//   - The state of the first init container that is not finished.
//   - The state of the first container that waits or has ended.
//   - SchedulingGated, or else the reason or phase in the status of the pod.
//
// Sidecars (init containers with restartPolicy Always) count as containers.
func podStateOf(p *corev1.Pod) podState {
	s := podState{reason: stringOr(p.Status.Reason, string(p.Status.Phase)), containers: len(p.Spec.Containers)}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			s.reason = corev1.PodReasonSchedulingGated
		}
	}
	if initialized := s.countInitContainers(p); initialized || conditionIsTrue(p, corev1.PodInitialized) {
		s.countContainers(p)
	}
	terminal := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	switch {
	case p.DeletionTimestamp == nil:
	case p.Status.Reason == "NodeLost":
		s.reason = "Unknown"
	case !terminal:
		s.reason = "Terminating"
	}
	return s
}

// countInitContainers sets the reason from the first unfinished init container. It returns true if
// there is none. While the pod initializes, it counts the restarts of all init containers up to
// that one. Afterwards, it counts only the restarts of sidecars.
func (s *podState) countInitContainers(p *corev1.Pod) bool {
	sidecars := map[string]bool{}
	for _, c := range p.Spec.InitContainers {
		if deref(c.RestartPolicy) == corev1.ContainerRestartPolicyAlways {
			sidecars[c.Name] = true
		}
	}
	s.containers += len(sidecars)
	var all, ofSidecars restarts
	for i, c := range p.Status.InitContainerStatuses {
		all.add(c)
		if sidecars[c.Name] {
			ofSidecars.add(c)
		}
		ended, waiting := c.State.Terminated, c.State.Waiting
		switch {
		case ended != nil && ended.ExitCode == 0:
			continue
		case sidecars[c.Name] && deref(c.Started):
			if c.Ready {
				s.ready++
			}
			continue
		case ended != nil:
			s.reason = "Init:" + terminationReason(ended)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			s.reason = "Init:" + waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(p.Spec.InitContainers))
		}
		s.restarts = all
		if conditionIsTrue(p, corev1.PodInitialized) {
			s.restarts = ofSidecars
		}
		return false
	}
	s.restarts = ofSidecars
	return true
}

// countContainers counts the containers and sets the reason from them. The reason of a pod is not Completed while another
// container is running.
func (s *podState) countContainers(p *corev1.Pod) {
	running := false
	for i := len(p.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := p.Status.ContainerStatuses[i]
		s.restarts.add(c)
		switch waiting, ended := c.State.Waiting, c.State.Terminated; {
		case waiting != nil && waiting.Reason != "":
			s.reason = waiting.Reason
		case ended != nil:
			s.reason = terminationReason(ended)
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.reason == "Completed" && running {
		s.reason = "NotReady"
		if conditionIsTrue(p, corev1.PodReady) {
			s.reason = "Running"
		}
	}
}

// terminationReason returns why a container ended.
func terminationReason(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

// conditionIsTrue reports whether a condition of the pod is true.
func conditionIsTrue(p *corev1.Pod, condition corev1.PodConditionType) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == condition {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
