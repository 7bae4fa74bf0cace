package projection

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// downward adds the file of a downward API item.
func (c *collector) downward(item *corev1.DownwardAPIVolumeFile) {
	var value string
	var err error
	switch {
	case item.FieldRef != nil:
		value, err = fieldOf(c.pod, item.FieldRef.FieldPath)
	case item.ResourceFieldRef != nil:
		value, err = resourceOf(c.pod, item.ResourceFieldRef, c.sources.Allocatable)
	default:
		err = fmt.Errorf("neither fieldRef nor resourceFieldRef is set")
	}
	if err != nil {
		c.invalid = append(c.invalid, fmt.Errorf("downward API file %q: %w", item.Path, err))
		return
	}
	c.add(item.Path, File{Data: []byte(value), Mode: modeOf(item.Mode, c.mode)})
}

// fieldOf returns a field of a pod in the format of the kubelet. Labels and annotations
// are sorted lines of key="value".
func fieldOf(pod *corev1.Pod, field string) (string, error) {
	if name, key, ok := subscript(field); ok {
		switch name {
		case "metadata.labels":
			return pod.Labels[key], nil
		case "metadata.annotations":
			return pod.Annotations[key], nil
		}
		return "", fmt.Errorf("fieldPath %q: has no keys", field)
	}
	switch field {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return lines(pod.Labels), nil
	case "metadata.annotations":
		return lines(pod.Annotations), nil
	}
	return "", fmt.Errorf("fieldPath %q: not supported in volumes", field)
}

// subscript splits a field path such as metadata.labels['app'] into name and key.
func subscript(field string) (name, key string, ok bool) {
	rest, ok := strings.CutSuffix(field, "']")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "['")
}

func lines(values map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = append(out, key+"="+strconv.Quote(values[key]))
	}
	return strings.Join(out, "\n")
}

// resourceOf returns a request or limit of a container, divided by the divisor and
// rounded up.
func resourceOf(pod *corev1.Pod, ref *corev1.ResourceFieldSelector, allocatable corev1.ResourceList) (string, error) {
	container := containerOf(pod, ref.ContainerName)
	if container == nil {
		return "", fmt.Errorf("container %q not found", ref.ContainerName)
	}
	list, name, _ := strings.Cut(ref.Resource, ".")
	var amount resource.Quantity
	switch list {
	case "requests":
		amount = container.Resources.Requests[corev1.ResourceName(name)]
	case "limits":
		var set bool
		if amount, set = container.Resources.Limits[corev1.ResourceName(name)]; !set {
			amount = allocatable[corev1.ResourceName(name)]
		}
	default:
		return "", fmt.Errorf("resource %q: must be one of limits or requests", ref.Resource)
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	switch {
	case name == string(corev1.ResourceCPU):
		return quotient(float64(amount.MilliValue()), float64(divisor.MilliValue())), nil
	case name == string(corev1.ResourceMemory), name == string(corev1.ResourceEphemeralStorage),
		strings.HasPrefix(name, corev1.ResourceHugePagesPrefix):
		return quotient(float64(amount.Value()), float64(divisor.Value())), nil
	}
	return "", fmt.Errorf("resource %q: not supported in volumes", ref.Resource)
}

func quotient(amount, divisor float64) string {
	return strconv.FormatInt(int64(math.Ceil(amount/divisor)), 10)
}

func containerOf(pod *corev1.Pod, name string) *corev1.Container {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if containers[i].Name == name {
				return &containers[i]
			}
		}
	}
	return nil
}
