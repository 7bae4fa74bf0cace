package node

import (
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/projection"
)

// unsupportedVolumes returns a text for each volume of a pod that the agent does not write,
// and for each mount of a part of a volume, which needs a container.
func unsupportedVolumes(pod *corev1.Pod) []string {
	var found []string
	for i := range pod.Spec.Volumes {
		if volume := &pod.Spec.Volumes[i]; !projection.Supported(volume) {
			found = append(found, fmt.Sprintf("volume %s: this agent does not provide volumes of type %s", volume.Name, typeOf(volume)))
		}
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for _, mount := range containers[i].VolumeMounts {
				if mount.SubPath != "" || mount.SubPathExpr != "" {
					found = append(found, fmt.Sprintf("volume %s: this agent does not provide the subPath in container %s",
						mount.Name, containers[i].Name))
				}
			}
		}
	}
	return found
}

// typeOf returns the name of the field that is set in the source of a volume, such as
// emptyDir.
func typeOf(volume *corev1.Volume) string {
	source := reflect.ValueOf(volume.VolumeSource)
	for i := range source.NumField() {
		if !source.Field(i).IsNil() {
			name, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return "unknown"
}
