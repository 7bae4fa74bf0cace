package controller

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/operator/api"
)

// ready says why an applied object is not ready, nil where its kind has no notion
// of it. See api.WaitAnnotation for how a package decides otherwise.
func (e *execution) ready(object *unstructured.Unstructured) error {
	wait := object.GetAnnotations()[api.WaitAnnotation]
	if wait == "false" {
		return nil
	}
	switch object.GroupVersionKind().GroupKind().String() {
	case "Instance.kudo.dev":
		return as(object, instanceReady)
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return established(object)
	}
	// Workloads are run by others, if anybody does.
	if e.unattended && wait != "true" && unobserved(object) {
		return nil
	}
	switch object.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps":
		return as(object, deploymentReady)
	case "StatefulSet.apps":
		return as(object, statefulSetReady)
	case "DaemonSet.apps":
		return as(object, daemonSetReady)
	case "ReplicaSet.apps":
		return as(object, replicaSetReady)
	case "Job.batch":
		return as(object, jobReady)
	case "Pod":
		return as(object, podReady)
	case "PersistentVolumeClaim":
		return as(object, claimReady)
	}
	return nil
}

// unobserved says that nobody has looked after an object yet.
func unobserved(object *unstructured.Unstructured) bool {
	status, _ := object.Object["status"].(map[string]any)
	for field, value := range status {
		switch value := value.(type) {
		case int64:
			if value != 0 {
				return false
			}
		case string:
			// Kubernetes' own default for what nobody has taken up.
			if field != "phase" && field != "qosClass" || field == "phase" && value != "Pending" {
				return false
			}
		case []any:
			if len(value) > 0 {
				return false
			}
		case map[string]any:
			if len(value) > 0 {
				return false
			}
		}
	}
	return true
}

func as[T any](object *unstructured.Unstructured, judge func(*T) error) error {
	read := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, read); err != nil {
		return err
	}
	return judge(read)
}

func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

// counted waits until something is true of all replicas.
func counted(what string, have, want int32) error {
	if have < want {
		return waiting("%d of %d are %s", have, want, what)
	}
	return nil
}

func seen(observed, generation int64) error {
	if observed < generation {
		return waiting("the last change is not taken up yet")
	}
	return nil
}

func first(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func deploymentReady(d *appsv1.Deployment) error {
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentProgressing && condition.Reason == "ProgressDeadlineExceeded" {
			return fmt.Errorf("it does not get on: %s", condition.Message)
		}
	}
	want := wanted(d.Spec.Replicas)
	return first(seen(d.Status.ObservedGeneration, d.Generation),
		counted("updated", d.Status.UpdatedReplicas, want), counted("available", d.Status.AvailableReplicas, want))
}

func statefulSetReady(s *appsv1.StatefulSet) error {
	want := wanted(s.Spec.Replicas)
	err := first(seen(s.Status.ObservedGeneration, s.Generation), counted("ready", s.Status.ReadyReplicas, want))
	if err != nil || s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return err
	}
	if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		want -= *rolling.Partition
	}
	return counted("updated", s.Status.UpdatedReplicas, want)
}

func daemonSetReady(d *appsv1.DaemonSet) error {
	err := first(seen(d.Status.ObservedGeneration, d.Generation), counted("ready", d.Status.NumberReady, d.Status.DesiredNumberScheduled))
	if err != nil || d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		return err
	}
	return counted("updated", d.Status.UpdatedNumberScheduled, d.Status.DesiredNumberScheduled)
}

func replicaSetReady(r *appsv1.ReplicaSet) error {
	return first(seen(r.Status.ObservedGeneration, r.Generation), counted("ready", r.Status.ReadyReplicas, wanted(r.Spec.Replicas)))
}

func jobReady(j *batchv1.Job) error {
	for _, condition := range j.Status.Conditions {
		switch {
		case condition.Status != corev1.ConditionTrue:
		case condition.Type == batchv1.JobComplete:
			return nil
		case condition.Type == batchv1.JobFailed:
			return fatalf("it has failed: %s", condition.Message)
		}
	}
	return waiting("it is not complete")
}

func podReady(p *corev1.Pod) error {
	switch {
	case p.Status.Phase == corev1.PodSucceeded:
		return nil
	case p.Status.Phase == corev1.PodFailed:
		return fatalf("it has failed: %s", p.Status.Message)
	case slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}):
		return nil
	}
	return waiting("it is not ready")
}

// claimReady does not wait for a volume: many come with the first pod that uses
// the claim, which a later step may bring.
func claimReady(c *corev1.PersistentVolumeClaim) error {
	if c.Status.Phase == corev1.ClaimLost {
		return fmt.Errorf("its volume is lost")
	}
	return nil
}

// established reads only the conditions: a typed definition would have to know
// every extension of its schema.
func established(object *unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, each := range conditions {
		condition, _ := each.(map[string]any)
		if condition["type"] == string(apiextensionsv1.Established) && condition["status"] == string(apiextensionsv1.ConditionTrue) {
			return nil
		}
	}
	return waiting("it is not established")
}

// instanceReady trusts the condition only when no plan is asked for: admission
// asks for one in the very write that needs it.
func instanceReady(i *api.Instance) error {
	if plan := i.RunningPlan(); plan != "" {
		if status := i.Status.PlanStatus[plan]; status.UID == i.Spec.PlanExecution.UID && status.Status == api.Error {
			return waiting("its plan %s has an error: %s", plan, status.Message)
		}
		return waiting("its plan %s runs", plan)
	}
	for _, condition := range i.Status.Conditions {
		switch {
		case condition.Type != api.ReadyCondition:
		case condition.Reason == string(api.FatalError):
			return fatalf("%s", condition.Message)
		case condition.Reason == string(api.Complete):
			return nil
		}
	}
	return waiting("no plan of it has run")
}
