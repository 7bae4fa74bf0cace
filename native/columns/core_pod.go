package columns

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var pods = table(name,
	text("Ready", "Containers that are ready, of all", func(p *corev1.Pod) string {
		s := stateOf(p)
		return fmt.Sprintf("%d/%d", s.ready, s.containers)
	}),
	text("Status", "What the pod is doing, or what holds it up", func(p *corev1.Pod) string {
		return stateOf(p).reason
	}),
	timed("Restarts", "How often containers were restarted, and when last",
		func(p *corev1.Pod, now time.Time) string {
			r := stateOf(p).restarts
			if r.count != 0 && !r.last.IsZero() {
				return fmt.Sprintf("%d (%s ago)", r.count, since(r.last.Time, now))
			}
			return fmt.Sprint(r.count)
		}),
	age,
	text("IP", corev1.PodStatus{}.SwaggerDoc()["podIP"], func(p *corev1.Pod) string {
		if len(p.Status.PodIPs) == 0 {
			return none
		}
		return orEmpty(p.Status.PodIPs[0].IP, none)
	}).wide(),
	text("Node", corev1.PodSpec{}.SwaggerDoc()["nodeName"], func(p *corev1.Pod) string {
		return orEmpty(p.Spec.NodeName, none)
	}).wide(),
	text("Nominated Node", corev1.PodStatus{}.SwaggerDoc()["nominatedNodeName"], func(p *corev1.Pod) string {
		return orEmpty(p.Status.NominatedNodeName, none)
	}).wide(),
	text("Readiness Gates", corev1.PodSpec{}.SwaggerDoc()["readinessGates"], readinessGates).wide())

func readinessGates(p *corev1.Pod) string {
	if len(p.Spec.ReadinessGates) == 0 {
		return none
	}
	open := 0
	for _, gate := range p.Spec.ReadinessGates {
		if holds(p, gate.ConditionType) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(p.Spec.ReadinessGates))
}

// podState is a pod and its containers in one word and three numbers.
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

// stateOf tells of the first init container that holds the pod up; once there is none, of its containers, where the
// first in the list has the last word; and above all that the pod is going away. Init containers that keep running
// beside the others (sidecars) count as containers.
func stateOf(p *corev1.Pod) podState {
	s := podState{reason: orEmpty(p.Status.Reason, string(p.Status.Phase)), containers: len(p.Spec.Containers)}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			s.reason = corev1.PodReasonSchedulingGated
		}
	}
	if initialized := s.initialize(p); initialized || holds(p, corev1.PodInitialized) {
		s.run(p)
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

// initialize counts the init containers up to the first that is not done and reports whether all are. The restarts it
// leaves are those of all of them while there is one to wait for, else of sidecars only.
func (s *podState) initialize(p *corev1.Pod) bool {
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
			s.reason = "Init:" + endOf(ended)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			s.reason = "Init:" + waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(p.Spec.InitContainers))
		}
		s.restarts = all
		if holds(p, corev1.PodInitialized) {
			s.restarts = ofSidecars
		}
		return false
	}
	s.restarts = ofSidecars
	return true
}

// run counts the containers. A pod of which one container is done while another still works is not done.
func (s *podState) run(p *corev1.Pod) {
	running := false
	for i := len(p.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := p.Status.ContainerStatuses[i]
		s.restarts.add(c)
		switch waiting, ended := c.State.Waiting, c.State.Terminated; {
		case waiting != nil && waiting.Reason != "":
			s.reason = waiting.Reason
		case ended != nil:
			s.reason = endOf(ended)
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.reason == "Completed" && running {
		s.reason = "NotReady"
		if holds(p, corev1.PodReady) {
			s.reason = "Running"
		}
	}
}

// endOf says why a container ended.
func endOf(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

// holds reports whether the pod's condition is true.
func holds(p *corev1.Pod, condition corev1.PodConditionType) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == condition {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
