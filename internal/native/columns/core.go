package columns

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

var namespaces = table(name,
	text("Status", "Whether the namespace is in use or being emptied", func(ns *corev1.Namespace) string { return string(ns.Status.Phase) }),
	age)

var configMaps = table(name,
	number("Data", corev1.ConfigMap{}.SwaggerDoc()["data"], func(c *corev1.ConfigMap) int {
		return len(c.Data) + len(c.BinaryData)
	}),
	age)

var secrets = table(name,
	text("Type", corev1.Secret{}.SwaggerDoc()["type"], func(s *corev1.Secret) string { return string(s.Type) }),
	number("Data", corev1.Secret{}.SwaggerDoc()["data"], func(s *corev1.Secret) int { return len(s.Data) }),
	age)

var serviceAccounts = table(name, age)

var podTemplates = table(name,
	containers(podTemplateContainers),
	images(podTemplateContainers),
	text("Pod Labels", "Labels that pods of the template get", func(t *corev1.PodTemplate) string {
		return labels.FormatLabels(t.Template.Labels)
	}))

func podTemplateContainers(t *corev1.PodTemplate) []corev1.Container {
	return t.Template.Spec.Containers
}

var replicationControllers = table(name,
	number("Desired", corev1.ReplicationControllerSpec{}.SwaggerDoc()["replicas"], func(rc *corev1.ReplicationController) int32 {
		return deref(rc.Spec.Replicas)
	}),
	number("Current", corev1.ReplicationControllerStatus{}.SwaggerDoc()["replicas"], func(rc *corev1.ReplicationController) int32 {
		return rc.Status.Replicas
	}),
	number("Ready", corev1.ReplicationControllerStatus{}.SwaggerDoc()["readyReplicas"], func(rc *corev1.ReplicationController) int32 {
		return rc.Status.ReadyReplicas
	}),
	age,
	containers(replicationControllerContainers).wide(),
	images(replicationControllerContainers).wide(),
	text("Selector", corev1.ReplicationControllerSpec{}.SwaggerDoc()["selector"], func(rc *corev1.ReplicationController) string {
		return labels.FormatLabels(rc.Spec.Selector)
	}).wide())

func replicationControllerContainers(rc *corev1.ReplicationController) []corev1.Container {
	return deref(rc.Spec.Template).Spec.Containers
}

var resourceQuotas = table(name,
	text("Request", "How much of the requests that the quota allows is used", func(q *corev1.ResourceQuota) string {
		return quotaUse(q, func(resource string) bool { return !strings.HasPrefix(resource, "limits.") })
	}),
	text("Limit", "How much of the limits that the quota allows is used", func(q *corev1.ResourceQuota) string {
		return quotaUse(q, func(resource string) bool { return strings.HasPrefix(resource, "limits.") })
	}),
	age)

func quotaUse(q *corev1.ResourceQuota, shown func(resource string) bool) string {
	var uses []string
	for _, resource := range slices.Sorted(maps.Keys(q.Status.Hard)) {
		if shown(string(resource)) {
			used, hard := q.Status.Used[resource], q.Status.Hard[resource]
			uses = append(uses, fmt.Sprintf("%s: %s/%s", resource, used.String(), hard.String()))
		}
	}
	return strings.Join(uses, ", ")
}
