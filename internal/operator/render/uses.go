package render

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/api"
)

// Use is a ConfigMap or a Secret that pods use. It is in the namespace of the pods.
type Use struct{ Kind, Name string }

// Uses returns the ConfigMaps and Secrets that the pods of a workload use: as volumes, in
// environment variables and to pull images. They are sorted, each once. It returns none for an
// object without a pod template, and for a Job, whose pod template is immutable.
func Uses(object *unstructured.Unstructured) ([]Use, error) {
	var all []Use
	for _, template := range podTemplates(object) {
		var pod corev1.PodTemplateSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod); err != nil {
			return nil, fmt.Errorf("%s %s: pod template: %w", object.GetKind(), object.GetName(), err)
		}
		all = append(all, usesOf(pod.Spec)...)
	}
	all = slices.DeleteFunc(all, func(use Use) bool { return use.Name == "" })
	slices.SortFunc(all, func(a, b Use) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return slices.Compact(all), nil
}

// SetDependenciesHash sets the annotation of KUDO on the pod templates of a workload. A change
// of the hash restarts the pods.
func SetDependenciesHash(object *unstructured.Unstructured, hash string) {
	for _, template := range podTemplates(object) {
		ensure(template, "metadata", "annotations")[api.DependenciesHashAnnotation] = hash
	}
}

// podTemplates returns the pod templates of an object that may change.
func podTemplates(object *unstructured.Unstructured) []map[string]any {
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"},
		schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"},
		schema.GroupKind{Kind: "ReplicationController"}:
		return at(object.Object, "spec", "template")
	case schema.GroupKind{Group: "batch", Kind: "CronJob"}:
		return at(object.Object, "spec", "jobTemplate", "spec", "template")
	}
	return nil
}

// usesOf returns the ConfigMaps and Secrets that a pod uses.
func usesOf(pod corev1.PodSpec) []Use {
	var all []Use
	add := func(kind, name string) { all = append(all, Use{kind, name}) }
	for _, secret := range pod.ImagePullSecrets {
		add("Secret", secret.Name)
	}
	for _, volume := range pod.Volumes {
		if volume.ConfigMap != nil {
			add("ConfigMap", volume.ConfigMap.Name)
		}
		if volume.Secret != nil {
			add("Secret", volume.Secret.SecretName)
		}
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ConfigMap != nil {
				add("ConfigMap", source.ConfigMap.Name)
			}
			if source.Secret != nil {
				add("Secret", source.Secret.Name)
			}
		}
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		all = append(all, environmentOf(container)...)
	}
	return all
}

// environmentOf returns the ConfigMaps and Secrets in the environment of a container.
func environmentOf(container corev1.Container) []Use {
	var all []Use
	for _, source := range container.EnvFrom {
		if source.ConfigMapRef != nil {
			all = append(all, Use{"ConfigMap", source.ConfigMapRef.Name})
		}
		if source.SecretRef != nil {
			all = append(all, Use{"Secret", source.SecretRef.Name})
		}
	}
	for _, variable := range container.Env {
		if from := variable.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			all = append(all, Use{"ConfigMap", from.ConfigMapKeyRef.Name})
		} else if from != nil && from.SecretKeyRef != nil {
			all = append(all, Use{"Secret", from.SecretKeyRef.Name})
		}
	}
	return all
}

func base64Of(content []byte) string { return base64.StdEncoding.EncodeToString(content) }

// Content returns the content of a ConfigMap or a Secret that pods see. It is the same for a
// rendered object and for the stored one.
func Content(object *unstructured.Unstructured) ([]byte, error) {
	content := map[string]string{}
	for _, field := range []string{"data", "binaryData", "stringData"} {
		values, _ := object.Object[field].(map[string]any)
		for key, value := range values {
			text := fmt.Sprint(value)
			if field == "stringData" || field == "data" && object.GetKind() == "ConfigMap" {
				text = base64Of([]byte(text))
			}
			content[key] = text
		}
	}
	return json.Marshal(content)
}
