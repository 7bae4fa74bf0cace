package warnings

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// oldAnnotations are the annotations of pods that fields replace.
var oldAnnotations = []struct{ key, text string }{
	{"scheduler.alpha.kubernetes.io/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`},
	{"security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
	{"security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
}

const seccomp = `non-functional in v1.27+; use the "seccompProfile" field instead`

// pod adds the warnings about a pod, or about the pod template at a path.
func (l *list) pod(path *field.Path, spec *corev1.PodSpec, annotations map[string]string) {
	below := func(names ...string) *field.Path { return path.Child("spec", names...) }
	notes := path.Child("metadata", "annotations")
	l.nodeLabels(below("nodeSelector"), spec.NodeSelector)
	l.affinity(below("affinity"), spec.Affinity)
	l.spread(below("topologySpreadConstraints"), spec.TopologySpreadConstraints)
	for _, old := range oldAnnotations {
		if _, ok := annotations[old.key]; ok {
			l.at(notes.Key(old.key), old.text)
		}
	}
	l.volumes(below("volumes"), spec.Volumes)
	seen := map[string]bool{}
	for i, alias := range spec.HostAliases {
		if seen[alias.IP] {
			l.at(below("hostAliases").Index(i).Child("ip"), fmt.Sprintf("duplicate ip %q", alias.IP))
		}
		seen[alias.IP] = true
	}
	l.pullSecrets(below("imagePullSecrets"), spec.ImagePullSecrets)
	l.fractions(below("overhead"), spec.Overhead)
	if spec.SecurityContext == nil || spec.SecurityContext.SeccompProfile == nil {
		if _, ok := annotations[corev1.SeccompPodAnnotationKey]; ok {
			l.at(notes.Key(corev1.SeccompPodAnnotationKey), seccomp)
		}
	}
	l.containers(path, spec, annotations)
	l.ports(below(), spec)
	if period := spec.TerminationGracePeriodSeconds; period != nil && *period < 0 {
		l.at(below("terminationGracePeriodSeconds"), "must be >= 0; negative values are invalid and will be treated as 1")
	}
	if spec.DNSConfig != nil {
		for i, server := range spec.DNSConfig.Nameservers {
			l.ip(below("dnsConfig", "nameservers").Index(i), server)
		}
	}
	for i, alias := range spec.HostAliases {
		l.ip(below("hostAliases").Index(i).Child("ip"), alias.IP)
	}
}

func (l *list) pullSecrets(path *field.Path, secrets []corev1.LocalObjectReference) {
	seen := map[string]bool{}
	for i, secret := range secrets {
		if seen[secret.Name] {
			l.at(path.Index(i).Child("name"), fmt.Sprintf("duplicate name %q", secret.Name))
		}
		seen[secret.Name] = true
		if secret.Name == "" {
			l.at(path.Index(i).Child("name"), `invalid empty name ""`)
		}
	}
}

// fractions warns about amounts of bytes that are no integers.
func (l *list) fractions(path *field.Path, amounts corev1.ResourceList) {
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if amount, ok := amounts[name]; ok {
			l.fraction(path.Key(string(name)), amount)
		}
	}
}

func (l *list) fraction(path *field.Path, amount resource.Quantity) {
	if amount.MilliValue()%1000 != 0 {
		l.at(path, fmt.Sprintf("fractional byte value %q is invalid, must be an integer", amount.String()))
	}
}

func (l *list) spread(path *field.Path, constraints []corev1.TopologySpreadConstraint) {
	for i, constraint := range constraints {
		if text, ok := oldNodeLabels[constraint.TopologyKey]; ok {
			l.at(path.Index(i).Child("topologyKey"), constraint.TopologyKey+" is "+text)
		}
		l.nullSelector(path.Index(i), constraint.LabelSelector == nil)
	}
}

// nullSelector warns about a selector that is null: it selects no pod.
func (l *list) nullSelector(path *field.Path, isNull bool) {
	if isNull {
		l.at(path.Child("labelSelector"), "a null labelSelector results in matching no pod")
	}
}

func (l *list) affinity(path *field.Path, affinity *corev1.Affinity) {
	if affinity == nil {
		return
	}
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	if node := affinity.NodeAffinity; node != nil {
		if node.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			l.nodeTerms(path.Child("nodeAffinity", required, "nodeSelectorTerms"), node.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
		}
		for i := range node.PreferredDuringSchedulingIgnoredDuringExecution {
			term := &node.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference
			at := path.Child("nodeAffinity", preferred).Index(i).Child("preference")
			l.nodeTerm(at, term)
			l.labelValues(at, term)
		}
	}
	pods := func(path *field.Path, terms []corev1.PodAffinityTerm, weighted []corev1.WeightedPodAffinityTerm) {
		for i := range terms {
			l.nullSelector(path.Child(required).Index(i), terms[i].LabelSelector == nil)
		}
		for i := range weighted {
			l.nullSelector(path.Child(preferred).Index(i).Child("podAffinityTerm"), weighted[i].PodAffinityTerm.LabelSelector == nil)
		}
	}
	if pod := affinity.PodAffinity; pod != nil {
		pods(path.Child("podAffinity"), pod.RequiredDuringSchedulingIgnoredDuringExecution, pod.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if pod := affinity.PodAntiAffinity; pod != nil {
		pods(path.Child("podAntiAffinity"), pod.RequiredDuringSchedulingIgnoredDuringExecution, pod.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

// nodeLabels warns about deprecated labels of nodes.
func (l *list) nodeLabels(path *field.Path, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if text, ok := oldNodeLabels[key]; ok {
			l.at(path.Key(key), text)
		}
	}
}
