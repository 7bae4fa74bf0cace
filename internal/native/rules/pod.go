package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
)

func podRules() []rule {
	return []rule{
		before(func(r *report, p *corev1.Pod) { r.owner = p }),
		before(func(r *report, s *corev1.PodSpec) { r.pod = s }),
		onStruct(wholePod),
		onStruct(podTemplate),

		require[corev1.PodSpec]("restartPolicy", ""),
		require[corev1.PodSpec]("dnsPolicy", ""),
		onField[corev1.PodSpec]("activeDeadlineSeconds", within[int64](1, math.MaxInt32)),
		onField[corev1.PodSpec]("nodeSelector", labelSet),
		onField[corev1.PodSpec]("serviceAccountName", dnsSubdomain),
		onField[corev1.PodSpec]("nodeName", dnsSubdomain),
		onField[corev1.PodSpec]("hostname", dnsLabel),
		onField[corev1.PodSpec]("subdomain", dnsLabel),
		onField[corev1.PodSpec]("priorityClassName", dnsSubdomain),
		onField[corev1.PodSpec]("runtimeClassName", subdomainName),
		onField[corev1.PodSpec]("overhead", func(r *report, list corev1.ResourceList) {
			// Kubernetes checks the overhead as limits of a container.
			requirements(r, &corev1.ResourceRequirements{Limits: list}, containerResource)
		}),
		onStruct(containerNames),
		onStruct(hostPorts),
		onStruct(podNetwork),
		onStruct(fileVolumes),

		notRequired[corev1.HostAlias]("ip"),
		onField[corev1.HostAlias]("ip", ip),
		onField[corev1.HostAlias]("hostnames", eachItem(subdomainName)),
		when("dnsConfig", func(_ *report, s *corev1.PodSpec) bool { return s.DNSPolicy != corev1.DNSNone || hasNameserver(s) }),
		onField[corev1.PodDNSConfig]("nameservers", func(r *report, servers []string) {
			if len(servers) > 3 {
				r.invalid(servers, "must not have more than 3 nameservers")
			}
			eachItem(ip)(r, servers)
		}),
		onField[corev1.PodDNSConfig]("searches", searchDomains),
		onStruct(func(r *report, o *corev1.PodDNSConfigOption) {
			if o.Name == "" {
				r.required("must not be empty")
			}
		}),
		oneOf[corev1.PodOS]("name"),
		onStruct(func(r *report, os *corev1.PodOS) {
			if supported := []string{"linux", "windows"}; os.Name != "" && !slices.Contains(supported, string(os.Name)) {
				r.unsupported(os.Name, supported)
			}
		}),
		notRequired[corev1.PodReadinessGate]("conditionType"),
		onField[corev1.PodReadinessGate]("conditionType", func(r *report, t corev1.PodConditionType) { labelKey(r, string(t)) }),
		notRequired[corev1.PodSchedulingGate]("name"),
		onField[corev1.PodSpec]("schedulingGates", func(r *report, gates []corev1.PodSchedulingGate) {
			for i, g := range gates {
				r.invalidAll(g.Name, validation.IsQualifiedName(g.Name), i)
				if slices.Contains(gates[:i], g) {
					r.duplicate(g.Name, i)
				}
			}
		}),
		onField[corev1.PodSpec]("schedulingGroup", func(r *report, g corev1.PodSchedulingGroup) {
			if g.PodGroupName == nil {
				r.invalid(g.PodGroupName, "must specify one of: `podGroupName`", "podGroupName")
				return
			}
			r.invalidAll(*g.PodGroupName, apivalidation.NameIsDNSSubdomain(*g.PodGroupName, false), "podGroupName")
		}),
	}
}

// wholePod checks what only a Pod must have. In a pod template it can be missing.
func wholePod(r *report, p *corev1.Pod) {
	if r.create && len(p.Spec.EphemeralContainers) > 0 {
		r.forbidden("cannot be set on create", "spec", ephemeralContainers)
	}
	if r.create && p.Spec.NodeName != "" && len(p.Spec.SchedulingGates) > 0 {
		r.forbidden("cannot be set until all schedulingGates have been cleared", "spec", "nodeName")
	}
	for i := range p.Spec.Containers {
		r.under(func() { noOuterSpaces(r, p.Spec.Containers[i].Image) }, "spec", containers, i)
	}
	for i := range p.Spec.InitContainers {
		r.under(func() { noOuterSpaces(r, p.Spec.InitContainers[i].Image) }, "spec", initContainers, i)
	}
}

func podTemplate(r *report, t *corev1.PodTemplateSpec) {
	// The paths of Kubernetes leave metadata out.
	r.under(func() { labelSet(r, t.Labels) }, "labels")
	if len(t.Annotations) > 0 {
		r.add(apivalidation.ValidateAnnotations(t.Annotations, r.path("annotations")))
	}
	if len(t.Spec.EphemeralContainers) > 0 {
		r.forbidden("ephemeral containers not allowed in pod template", "spec", ephemeralContainers)
	}
}

// eachContainer calls visit for all containers of a pod, with the path of the container.
func eachContainer(r *report, s *corev1.PodSpec, visit func(*corev1.Container)) {
	for i := range s.InitContainers {
		r.under(func() { visit(&s.InitContainers[i]) }, initContainers, i)
	}
	for i := range s.Containers {
		r.under(func() { visit(&s.Containers[i]) }, containers, i)
	}
	for i := range s.EphemeralContainers {
		r.under(func() { visit((*corev1.Container)(&s.EphemeralContainers[i].EphemeralContainerCommon)) }, ephemeralContainers, i)
	}
}

// containerNames checks that all containers of a pod have different names and that their mounts refer to volumes.
func containerNames(r *report, s *corev1.PodSpec) {
	volumes := validVolumes(r, s)
	eachContainer(r, s, func(c *corev1.Container) { containerVolumes(r, c, volumes) })
	names := make(map[string]bool, len(s.Containers)+len(s.InitContainers))
	unique := func(name, list string, i int) {
		if names[name] {
			r.duplicate(name, list, i, "name")
		}
		names[name] = true
	}
	for i := range s.Containers {
		unique(s.Containers[i].Name, containers, i)
	}
	for i := range s.InitContainers {
		unique(s.InitContainers[i].Name, initContainers, i)
	}
	for i := range s.EphemeralContainers {
		c := &s.EphemeralContainers[i]
		if target := c.TargetContainerName; target != "" && !isContainer(s, target) {
			r.add(notFound(r.path(ephemeralContainers, i, "targetContainerName"), target))
		}
		unique(c.Name, ephemeralContainers, i)
	}
}

// isContainer reports whether a pod has a container of this name that is not ephemeral.
func isContainer(s *corev1.PodSpec, name string) bool {
	has := func(c corev1.Container) bool { return c.Name == name }
	return slices.ContainsFunc(s.Containers, has) || slices.ContainsFunc(s.InitContainers, has)
}

// hostPorts rejects a host port that is used twice in a pod. With hostNetwork, it also rejects a hostPort that differs from
// its containerPort. In a pod template the hostPort may be missing.
func hostPorts(r *report, s *corev1.PodSpec) {
	var taken []string
	for i := range s.Containers {
		for j, p := range s.Containers[i].Ports {
			if s.HostNetwork && p.HostPort != p.ContainerPort && (p.HostPort != 0 || r.owner != nil) {
				r.invalid(p.HostPort, "must match `containerPort` when `hostNetwork` is true", containers, i, "ports", j, "hostPort")
			}
		}
		taken = r.takePorts(&s.Containers[i], taken, containers, i)
	}
	for i := range s.InitContainers {
		// Init containers run one after the other. Kubernetes always names the first one.
		r.takePorts(&s.InitContainers[i], nil, initContainers, 0)
	}
}

// takePorts rejects the host ports of a container that are taken, and returns all that are taken then.
func (r *report) takePorts(c *corev1.Container, taken []string, at ...any) []string {
	for i, p := range c.Ports {
		if p.HostPort == 0 {
			continue
		}
		id := fmt.Sprintf("%s/%s/%d", p.Protocol, p.HostIP, p.HostPort)
		if slices.Contains(taken, id) {
			r.duplicate(id, append(at, "ports", i, "hostPort")...)
		}
		taken = append(taken, id)
	}
	return taken
}

func hasNameserver(s *corev1.PodSpec) bool {
	return s.DNSConfig != nil && len(s.DNSConfig.Nameservers) > 0
}

func podNetwork(r *report, s *corev1.PodSpec) {
	switch {
	case s.DNSPolicy != corev1.DNSNone || hasNameserver(s):
	case s.DNSConfig == nil:
		r.required(fmt.Sprintf("must provide `dnsConfig` when `dnsPolicy` is %s", corev1.DNSNone), "dnsConfig")
	default:
		r.required(fmt.Sprintf("must provide at least one DNS nameserver when `dnsPolicy` is %s", corev1.DNSNone), "dnsConfig", "nameservers")
	}
}

func searchDomains(r *report, domains []string) {
	if len(domains) > 32 {
		r.invalid(domains, "must not have more than 32 search paths")
	}
	if len(strings.Join(domains, " ")) > 2048 {
		r.invalid(domains, "must not have more than 2048 characters (including spaces) in the search list")
	}
	for i, domain := range domains {
		if domain != "." {
			domain = strings.TrimSuffix(domain, ".")
			r.invalidAll(domain, validation.IsDNS1123SubdomainWithUnderscore(domain), i)
		}
	}
}

// fileVolumes checks that the environment variables of containers come from files in volumes of type emptyDir.
func fileVolumes(r *report, s *corev1.PodSpec) {
	eachContainer(r, s, func(c *corev1.Container) {
		for i := range c.Env {
			from := c.Env[i].ValueFrom
			if from == nil || from.FileKeyRef == nil {
				continue
			}
			name, at := from.FileKeyRef.VolumeName, []any{"env", i, "valueFrom", "fileKeyRef", "volumeName"}
			v := slices.IndexFunc(s.Volumes, func(v corev1.Volume) bool { return v.Name == name })
			switch {
			case v < 0:
				r.add(notFound(r.path(at...), name))
			case s.Volumes[v].EmptyDir == nil:
				r.invalid(name, "referenced volume must be of type emptyDir", at...)
			}
		}
	})
}
