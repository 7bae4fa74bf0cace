package defaults

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// pod sets the defaults of podSpec, and those that Kubernetes sets in pods but not in pod templates.
func pod(p *corev1.Pod) {
	podSpec(&p.Spec)
	// Old versions of Kubernetes accepted a negative period.
	if period := p.Spec.TerminationGracePeriodSeconds; *period < 0 {
		p.Spec.TerminationGracePeriodSeconds = new(int64(1))
	}
	setDefaultPtr(&p.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	forPod := func(c *corev1.Container) {
		addMissing(&c.Resources.Requests, c.Resources.Limits)
		if p.Spec.HostNetwork {
			forEach(c.Ports, func(port *corev1.ContainerPort) { setDefault(&port.HostPort, port.ContainerPort) })
		}
	}
	forEach(p.Spec.InitContainers, forPod)
	forEach(p.Spec.Containers, forPod)
	podResources(p)
	podIPs(&p.Status)
	roundUp(p.Status.AllocatedResources)
	requirements(p.Status.Resources)
	for _, statuses := range [][]corev1.ContainerStatus{
		p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses,
	} {
		forEach(statuses, func(c *corev1.ContainerStatus) {
			roundUp(c.AllocatedResources)
			requirements(c.Resources)
		})
	}
}

// podIPs makes podIP the first of podIPs. A client that knows only podIP replaces the list.
func podIPs(s *corev1.PodStatus) {
	switch {
	case s.PodIP != "" && (len(s.PodIPs) == 0 || s.PodIPs[0].IP != s.PodIP):
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	case len(s.PodIPs) > 0:
		s.PodIP = s.PodIPs[0].IP
	}
}

// podResources sets the defaults of pod-level resources (spec.resources). The default limit of
// huge pages is the sum of the limits of the containers. The default request of a resource is the
// sum of the requests of the containers, or the limit of the pod if they have no request. Huge
// pages always use the limit of the pod. A pod without limits gets no default requests.
func podResources(p *corev1.Pod) {
	total := p.Spec.Resources
	if total == nil || len(total.Limits)+len(total.Requests) == 0 {
		return
	}
	isHugePages := func(name corev1.ResourceName) bool {
		return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	}
	limits := resourcehelper.AggregateContainerLimits(p, resourcehelper.PodResourcesOptions{})
	addMissing(&total.Limits, only(limits, isHugePages))
	if len(total.Limits) == 0 {
		return
	}
	requests := resourcehelper.AggregateContainerRequests(p, resourcehelper.PodResourcesOptions{})
	addMissing(&total.Requests, only(requests, func(name corev1.ResourceName) bool {
		return resourcehelper.IsSupportedPodLevelResource(name) && !isHugePages(name)
	}))
	addMissing(&total.Requests, only(total.Limits, resourcehelper.IsSupportedPodLevelResource))
}

// only returns the entries of list for which accept returns true.
func only(list corev1.ResourceList, accept func(corev1.ResourceName) bool) corev1.ResourceList {
	kept := corev1.ResourceList{}
	for name, amount := range list {
		if accept(name) {
			kept[name] = amount
		}
	}
	return kept
}

func podSpec(s *corev1.PodSpec) {
	setDefault(&s.RestartPolicy, corev1.RestartPolicyAlways)
	setDefault(&s.DNSPolicy, corev1.DNSClusterFirst)
	setDefault(&s.SchedulerName, corev1.DefaultSchedulerName)
	setDefaultPtr(&s.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	setDefaultPtr(&s.SecurityContext, corev1.PodSecurityContext{})
	// serviceAccount is the old name of serviceAccountName.
	setDefault(&s.ServiceAccountName, s.DeprecatedServiceAccount)
	s.DeprecatedServiceAccount = s.ServiceAccountName
	forEach(s.Volumes, volume)
	forEach(s.InitContainers, container)
	forEach(s.Containers, container)
	forEach(s.EphemeralContainers, func(c *corev1.EphemeralContainer) {
		container((*corev1.Container)(&c.EphemeralContainerCommon))
	})
	roundUp(s.Overhead)
	requirements(s.Resources)
}

func container(c *corev1.Container) {
	setDefault(&c.ImagePullPolicy, pullPolicy(c.Image))
	setDefault(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setDefault(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	forEach(c.Ports, func(p *corev1.ContainerPort) { setDefault(&p.Protocol, corev1.ProtocolTCP) })
	forEach(c.Env, func(e *corev1.EnvVar) {
		if e.ValueFrom == nil {
			return
		}
		fieldRef(e.ValueFrom.FieldRef)
		if file := e.ValueFrom.FileKeyRef; file != nil {
			setDefaultPtr(&file.Optional, false)
		}
	})
	requirements(&c.Resources)
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		probe(p)
	}
	if c.Lifecycle == nil {
		return
	}
	for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
		if hook != nil {
			httpGet(hook.HTTPGet)
		}
	}
}

func probe(p *corev1.Probe) {
	if p == nil {
		return
	}
	setDefault(&p.TimeoutSeconds, 1)
	setDefault(&p.PeriodSeconds, 10)
	setDefault(&p.SuccessThreshold, 1)
	setDefault(&p.FailureThreshold, 3)
	httpGet(p.HTTPGet)
	if p.GRPC != nil {
		setDefaultPtr(&p.GRPC.Service, "")
	}
}

func httpGet(g *corev1.HTTPGetAction) {
	if g == nil {
		return
	}
	setDefault(&g.Path, "/")
	setDefault(&g.Scheme, corev1.URISchemeHTTP)
}

func fieldRef(f *corev1.ObjectFieldSelector) {
	if f != nil {
		setDefault(&f.APIVersion, "v1")
	}
}

func requirements(r *corev1.ResourceRequirements) {
	if r == nil {
		return
	}
	roundUp(r.Limits)
	roundUp(r.Requests)
}
