package rules

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podClaimStatuses checks that the status of a pod has the claims of its spec.
func podClaimStatuses(r *report, p *corev1.Pod) {
	for i, s := range p.Status.ResourceClaimStatuses {
		r.under(func() {
			if !slices.ContainsFunc(p.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.Name == s.Name }) {
				r.invalid(s.Name, "must match the name of an entry in `spec.resourceClaims`", "name")
			}
			if slices.ContainsFunc(p.Status.ResourceClaimStatuses[:i], func(o corev1.PodResourceClaimStatus) bool { return o.Name == s.Name }) {
				r.duplicate(s.Name, "name")
			}
			if s.ResourceClaimName != nil {
				r.invalidAll(*s.ResourceClaimName, apivalidation.NameIsDNSSubdomain(*s.ResourceClaimName, false), "resourceClaimName")
			}
		}, "resourceClaimStatuses", i)
	}
}

// extendedClaim checks the claim that provides the extended resources of a pod.
func extendedClaim(r *report, p *corev1.Pod) {
	s := p.Status.ExtendedResourceClaimStatus
	if len(s.RequestMappings) == 0 {
		r.required("at least one request mapping is required", "requestMappings")
	}
	for i, m := range s.RequestMappings {
		r.under(func() {
			extendedRequest(r, p, m)
			if slices.Contains(s.RequestMappings[:i], m) {
				r.duplicate(m.ContainerName, "containerName")
				r.duplicate(m.ResourceName, "resourceName")
				r.duplicate(m.RequestName, "requestName")
			}
		}, "requestMappings", i)
		// Kubernetes writes this path so.
		r.invalidAll(m.RequestName, validation.IsDNS1123Label(m.RequestName), "requestName")
	}
	if s.ResourceClaimName == "" {
		r.required("", "resourceClaimName")
		return
	}
	r.invalidAll(s.ResourceClaimName, apivalidation.NameIsDNSSubdomain(s.ResourceClaimName, false), "resourceClaimName")
}

func extendedRequest(r *report, p *corev1.Pod, m corev1.ContainerExtendedResourceRequest) {
	all := slices.Concat(p.Spec.Containers, p.Spec.InitContainers)
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == m.ContainerName })
	if i < 0 {
		r.invalid(m.ContainerName, "must match the name of an entry in spec.initContainers.name or spec.containers.name", "containerName")
		return
	}
	if _, ok := all[i].Resources.Requests[corev1.ResourceName(m.ResourceName)]; !ok {
		r.invalid(m.ResourceName, "must match the extended resource name of an entry in spec.initContainers.resources.requests or "+
			"spec.containers.resources.requests", "resourceName")
	}
}

// containerStatuses checks the users and the devices of containers.
func containerStatuses(r *report, p *corev1.Pod) {
	isWindows := p.Spec.OS != nil && p.Spec.OS.Name == corev1.Windows
	for _, list := range []struct {
		name       string
		statuses   []corev1.ContainerStatus
		containers []corev1.Container
	}{
		{"containerStatuses", p.Status.ContainerStatuses, p.Spec.Containers},
		{"initContainerStatuses", p.Status.InitContainerStatuses, p.Spec.InitContainers},
		{"ephemeralContainerStatuses", p.Status.EphemeralContainerStatuses, nil},
	} {
		for i := range list.statuses {
			s := &list.statuses[i]
			r.under(func() {
				switch {
				case s.User == nil || s.User.Linux == nil:
				case isWindows:
					r.forbidden("cannot be set for a windows pod", "user", "linux")
				default:
					r.under(func() { linuxUser(r, s.User.Linux) }, "user", "linux")
				}
				if list.name == "ephemeralContainerStatuses" {
					refuseSet(r, "must not be specified in container status", setField{"allocatedResourcesStatus", len(s.AllocatedResourcesStatus) > 0})
					return
				}
				for j := range s.AllocatedResourcesStatus {
					r.under(func() { allocatedResource(r, &s.AllocatedResourcesStatus[j], s.Name, list.containers) }, "allocatedResourcesStatus", j)
				}
			}, list.name, i)
		}
	}
}

func linuxUser(r *report, u *corev1.LinuxContainerUser) {
	id := within[int64](0, math.MaxInt32)
	r.under(func() { id(r, u.UID) }, "uid")
	r.under(func() { id(r, u.GID) }, "gid")
	r.under(func() { eachItem(id)(r, u.SupplementalGroups) }, "supplementalGroups")
}

// allocatedResource checks the devices that a container has of one resource.
func allocatedResource(r *report, s *corev1.ResourceStatus, container string, containers []corev1.Container) {
	i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == container })
	if i >= 0 {
		allocatedName(r, s.Name, &containers[i].Resources)
	}
	for j, d := range s.Resources {
		r.under(func() {
			if supported := []string{"Healthy", "Unhealthy", "Unknown"}; !slices.Contains(supported, string(d.Health)) {
				r.unsupported(d.Health, supported, "health")
			}
			switch {
			case d.Message == nil:
			case *d.Message == "":
				r.required("must be non-empty if specified", "message")
			case len(*d.Message) > corev1.ResourceHealthMessageMaxLength:
				r.add(field.ErrorList{field.TooLong(r.path("message"), *d.Message, corev1.ResourceHealthMessageMaxLength)})
			}
			if slices.ContainsFunc(s.Resources[:j], func(o corev1.ResourceHealth) bool { return o.ResourceID == d.ResourceID }) {
				r.duplicate(d.ResourceID, "resourceID")
			}
		}, "resources", j)
	}
}

func allocatedName(r *report, name corev1.ResourceName, resources *corev1.ResourceRequirements) {
	if !strings.HasPrefix(string(name), "claim:") {
		if _, ok := resources.Requests[name]; !ok {
			r.invalid(name, "must match one of the container's resource requests", "name")
		}
		return
	}
	isClaim := func(c corev1.ResourceClaim) bool {
		id := "claim:" + c.Name
		if c.Request != "" {
			id += "/" + c.Request
		}
		return id == string(name)
	}
	if !slices.ContainsFunc(resources.Claims, isClaim) {
		r.invalid(name, "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "+
			"'claim:<claimName>' if request is empty", "name")
	}
}
