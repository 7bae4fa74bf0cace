package warnings

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/native"
)

// eachContainer calls visit for all containers of a pod, with their paths.
func eachContainer(path *field.Path, spec *corev1.PodSpec, visit func(*field.Path, *corev1.Container)) {
	for i := range spec.InitContainers {
		visit(path.Child("initContainers").Index(i), &spec.InitContainers[i])
	}
	for i := range spec.Containers {
		visit(path.Child("containers").Index(i), &spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		visit(path.Child("ephemeralContainers").Index(i), (*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
}

// containers adds the warnings about single containers. path is nil for a pod.
func (l *list) containers(path *field.Path, spec *corev1.PodSpec, annotations map[string]string) {
	notes := path.Child("metadata", "annotations")
	eachContainer(path.Child("spec"), spec, func(at *field.Path, c *corev1.Container) {
		key := corev1.SeccompContainerAnnotationKeyPrefix + c.Name
		if _, ok := annotations[key]; ok && (c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil) {
			l.at(notes.Key(key), seccomp)
		}
		key = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + c.Name
		profile, ok := annotations[key]
		// The server converts the annotation of a pod to the field.
		if isTemplate := path != nil; ok && isTemplate && (c.SecurityContext == nil || c.SecurityContext.AppArmorProfile == nil) &&
			!isPodProfile(spec.SecurityContext, profile) {
			l.at(notes.Key(key), `deprecated since v1.30; use the "appArmorProfile" field instead`)
		}
		l.fractions(at.Child("resources", "limits"), c.Resources.Limits)
		l.fractions(at.Child("resources", "requests"), c.Resources.Requests)
		l.env(at.Child("env"), c.Env)
	})
}

// isPodProfile reports whether the AppArmor profile of an annotation is that of the whole pod.
func isPodProfile(context *corev1.PodSecurityContext, profile string) bool {
	if context == nil || context.AppArmorProfile == nil {
		return false
	}
	wanted := native.AppArmorProfile(profile)
	return wanted != nil && apiequality.Semantic.DeepEqual(context.AppArmorProfile, wanted)
}

// env warns about variables that replace an earlier one. A value that refers to the earlier one
// extends it.
func (l *list) env(path *field.Path, variables []corev1.EnvVar) {
	seen := map[string]bool{}
	for i, variable := range variables {
		reference := "$(" + variable.Name + ")"
		extends := variable.ValueFrom == nil && variable.Value != reference && strings.Contains(variable.Value, reference)
		if seen[variable.Name] && !extends {
			l.at(path.Index(i), fmt.Sprintf("hides previous definition of %q, which may be dropped when using apply", variable.Name))
		}
		seen[variable.Name] = true
	}
}

// ports warns about ports of a pod that clash with each other.
func (l *list) ports(path *field.Path, spec *corev1.PodSpec) {
	type use struct {
		path *field.Path
		port corev1.ContainerPort
	}
	seen, names := map[string][]use{}, map[string]*field.Path{}
	var repeated list
	eachContainer(path, spec, func(at *field.Path, c *corev1.Container) {
		for i, port := range c.Ports {
			here := at.Child("ports").Index(i)
			if port.HostIP != "" && port.HostPort == 0 {
				l.at(here, fmt.Sprintf("hostIP set without hostPort: %+v", port))
			}
			key := fmt.Sprintf("%d/%s", port.ContainerPort, port.Protocol)
			for _, other := range seen[key] {
				if clash := portClash(port, other.port); clash != "" {
					l.at(here, fmt.Sprintf("%s port definition with %s", clash, other.path))
				}
			}
			seen[key] = append(seen[key], use{here, port})
			switch first, ok := names[port.Name]; {
			case port.Name == "":
			case ok:
				repeated.at(here, fmt.Sprintf("duplicate port name %q with %s, services and probes that select ports by name will use %s", port.Name, first, first))
			default:
				names[port.Name] = here
			}
		}
	})
	*l = append(*l, repeated...)
}

// portClash says how two ports with the same number and protocol clash; empty if they do not.
func portClash(a, b corev1.ContainerPort) string {
	switch {
	case a.HostIP == b.HostIP && a.HostPort == b.HostPort:
		return "duplicate"
	case a.HostPort == 0 || b.HostPort == 0:
		return "overlapping"
	case a.HostPort == b.HostPort && (a.HostIP == "") != (b.HostIP == ""):
		return "dangerously ambiguous"
	}
	return ""
}
