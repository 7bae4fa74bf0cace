package columns

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	deploymentStatus = appsv1.DeploymentStatus{}.SwaggerDoc()
	replicaSetStatus = appsv1.ReplicaSetStatus{}.SwaggerDoc()
	daemonSetStatus  = appsv1.DaemonSetStatus{}.SwaggerDoc()
)

var deployments = table(name,
	text("Ready", "Pods that are ready, of those wanted", func(d *appsv1.Deployment) string {
		return fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, deref(d.Spec.Replicas))
	}),
	number("Up-to-date", deploymentStatus["updatedReplicas"], func(d *appsv1.Deployment) int32 { return d.Status.UpdatedReplicas }),
	number("Available", deploymentStatus["availableReplicas"], func(d *appsv1.Deployment) int32 { return d.Status.AvailableReplicas }),
	age,
	containers(deploymentContainers).wide(),
	images(deploymentContainers).wide(),
	text("Selector", appsv1.DeploymentSpec{}.SwaggerDoc()["selector"], func(d *appsv1.Deployment) string {
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err != nil {
			return "<invalid>"
		}
		return selector.String()
	}).wide())

func deploymentContainers(d *appsv1.Deployment) []corev1.Container {
	return d.Spec.Template.Spec.Containers
}

var statefulSets = table(name,
	text("Ready", "Pods that are ready, of those wanted", func(s *appsv1.StatefulSet) string {
		return fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, deref(s.Spec.Replicas))
	}),
	age,
	containers(statefulSetContainers).wide(),
	images(statefulSetContainers).wide())

func statefulSetContainers(s *appsv1.StatefulSet) []corev1.Container {
	return s.Spec.Template.Spec.Containers
}

var replicaSets = table(name,
	number("Desired", appsv1.ReplicaSetSpec{}.SwaggerDoc()["replicas"], func(r *appsv1.ReplicaSet) int32 { return deref(r.Spec.Replicas) }),
	number("Current", replicaSetStatus["replicas"], func(r *appsv1.ReplicaSet) int32 { return r.Status.Replicas }),
	number("Ready", replicaSetStatus["readyReplicas"], func(r *appsv1.ReplicaSet) int32 { return r.Status.ReadyReplicas }),
	age,
	containers(replicaSetContainers).wide(),
	images(replicaSetContainers).wide(),
	text("Selector", appsv1.ReplicaSetSpec{}.SwaggerDoc()["selector"], func(r *appsv1.ReplicaSet) string {
		return metav1.FormatLabelSelector(r.Spec.Selector)
	}).wide())

func replicaSetContainers(r *appsv1.ReplicaSet) []corev1.Container {
	return r.Spec.Template.Spec.Containers
}

var daemonSets = table(name,
	number("Desired", daemonSetStatus["desiredNumberScheduled"], func(d *appsv1.DaemonSet) int32 { return d.Status.DesiredNumberScheduled }),
	number("Current", daemonSetStatus["currentNumberScheduled"], func(d *appsv1.DaemonSet) int32 { return d.Status.CurrentNumberScheduled }),
	number("Ready", daemonSetStatus["numberReady"], func(d *appsv1.DaemonSet) int32 { return d.Status.NumberReady }),
	number(
		"Up-to-date", daemonSetStatus["updatedNumberScheduled"],
		func(d *appsv1.DaemonSet) int32 { return d.Status.UpdatedNumberScheduled },
	),
	number("Available", daemonSetStatus["numberAvailable"], func(d *appsv1.DaemonSet) int32 { return d.Status.NumberAvailable }),
	text("Node Selector", corev1.PodSpec{}.SwaggerDoc()["nodeSelector"], func(d *appsv1.DaemonSet) string {
		return labels.FormatLabels(d.Spec.Template.Spec.NodeSelector)
	}),
	age,
	containers(daemonSetContainers).wide(),
	images(daemonSetContainers).wide(),
	text("Selector", appsv1.DaemonSetSpec{}.SwaggerDoc()["selector"], func(d *appsv1.DaemonSet) string {
		return metav1.FormatLabelSelector(d.Spec.Selector)
	}).wide())

func daemonSetContainers(d *appsv1.DaemonSet) []corev1.Container {
	return d.Spec.Template.Spec.Containers
}

var controllerRevisions = table(name,
	text("Controller", "The workload whose revision this is", func(r *appsv1.ControllerRevision) string {
		owner := metav1.GetControllerOf(r)
		if owner == nil {
			return none
		}
		kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
		return strings.ToLower(kind.String()) + "/" + owner.Name
	}),
	number("Revision", appsv1.ControllerRevision{}.SwaggerDoc()["revision"], func(r *appsv1.ControllerRevision) int64 { return r.Revision }),
	age)
