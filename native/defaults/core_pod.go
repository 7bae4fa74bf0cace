package defaults

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// pod is podSpec and what Kubernetes fills in for pods but not for the templates of workloads.
func pod(p *corev1.Pod) {
	podSpec(&p.Spec)
	fillPtr(&p.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	forPod := func(c *corev1.Container) {
		fillList(&c.Resources.Requests, c.Resources.Limits)
		if p.Spec.HostNetwork {
			each(c.Ports, func(port *corev1.ContainerPort) { fill(&port.HostPort, port.ContainerPort) })
		}
	}
	each(p.Spec.InitContainers, forPod)
	each(p.Spec.Containers, forPod)
	podResources(p)
	for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses} {
		each(statuses, func(c *corev1.ContainerStatus) {
			quantities(c.AllocatedResources)
			requirements(c.Resources)
		})
	}
}

// podResources completes resources given for the pod as a whole: huge pages are limited to what its containers may use,
// requests are the sum of its containers' requests, and where they have none the pod's own limit.
func podResources(p *corev1.Pod) {
	total := p.Spec.Resources
	if total == nil || len(total.Limits)+len(total.Requests) == 0 {
		return
	}
	isHugePages := func(name corev1.ResourceName) bool {
		return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	}
	limits := resourcehelper.AggregateContainerLimits(p, resourcehelper.PodResourcesOptions{})
	fillList(&total.Limits, only(limits, isHugePages))
	if len(total.Limits) == 0 {
		return
	}
	requests := resourcehelper.AggregateContainerRequests(p, resourcehelper.PodResourcesOptions{})
	fillList(&total.Requests, only(requests, func(name corev1.ResourceName) bool {
		return resourcehelper.IsSupportedPodLevelResource(name) && !isHugePages(name)
	}))
	fillList(&total.Requests, only(total.Limits, resourcehelper.IsSupportedPodLevelResource))
}

// only returns the entries of list whose name is accepted.
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
	fill(&s.RestartPolicy, corev1.RestartPolicyAlways)
	fill(&s.DNSPolicy, corev1.DNSClusterFirst)
	fill(&s.SchedulerName, corev1.DefaultSchedulerName)
	fillPtr(&s.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	fillPtr(&s.SecurityContext, corev1.PodSecurityContext{})
	each(s.Volumes, volume)
	each(s.InitContainers, container)
	each(s.Containers, container)
	each(s.EphemeralContainers, func(c *corev1.EphemeralContainer) {
		container((*corev1.Container)(&c.EphemeralContainerCommon))
	})
	quantities(s.Overhead)
	requirements(s.Resources)
}

func container(c *corev1.Container) {
	fill(&c.ImagePullPolicy, pullPolicy(c.Image))
	fill(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	fill(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	each(c.Ports, func(p *corev1.ContainerPort) { fill(&p.Protocol, corev1.ProtocolTCP) })
	each(c.Env, func(e *corev1.EnvVar) {
		if e.ValueFrom == nil {
			return
		}
		fieldRef(e.ValueFrom.FieldRef)
		if file := e.ValueFrom.FileKeyRef; file != nil {
			fillPtr(&file.Optional, false)
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
	fill(&p.TimeoutSeconds, 1)
	fill(&p.PeriodSeconds, 10)
	fill(&p.SuccessThreshold, 1)
	fill(&p.FailureThreshold, 3)
	httpGet(p.HTTPGet)
	if p.GRPC != nil {
		fillPtr(&p.GRPC.Service, "")
	}
}

func httpGet(g *corev1.HTTPGetAction) {
	if g == nil {
		return
	}
	fill(&g.Path, "/")
	fill(&g.Scheme, corev1.URISchemeHTTP)
}

func fieldRef(f *corev1.ObjectFieldSelector) {
	if f != nil {
		fill(&f.APIVersion, "v1")
	}
}

func requirements(r *corev1.ResourceRequirements) {
	if r == nil {
		return
	}
	quantities(r.Limits)
	quantities(r.Requests)
}
