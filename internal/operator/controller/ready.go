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

	"holdfast.dev/holdfast/api"
)

// ready returns an error while an applied object is not ready, nil if it is ready or if its
// kind has no readiness. A package can change this with api.WaitAnnotation.
func (e *execution) ready(object *unstructured.Unstructured) error {
	wait := object.GetAnnotations()[api.WaitAnnotation]
	if wait == "false" {
		return nil
	}
	switch object.GroupVersionKind().GroupKind().String() {
	case "Instance.kudo.dev":
		return typedCheck(object, instanceReady)
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return established(object)
	}
	// On a server without workload controllers, a workload would never become ready.
	if e.unattended && wait != "true" && unobserved(object) {
		return nil
	}
	switch object.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps":
		return typedCheck(object, deploymentReady)
	case "StatefulSet.apps":
		return typedCheck(object, statefulSetReady)
	case "DaemonSet.apps":
		return typedCheck(object, daemonSetReady)
	case "ReplicaSet.apps":
		return typedCheck(object, replicaSetReady)
	case "Job.batch":
		return typedCheck(object, jobReady)
	case "Pod":
		return typedCheck(object, podReady)
	case "PersistentVolumeClaim":
		return typedCheck(object, claimReady)
	}
	return nil
}

// unobserved reports whether the status of an object has default values only, so that no
// controller has acted on the object yet.
func unobserved(object *unstructured.Unstructured) bool {
	status, _ := object.Object["status"].(map[string]any)
	for field, value := range status {
		switch value := value.(type) {
		case int64:
			if value != 0 {
				return false
			}
		case string:
			// The API server itself sets phase Pending and the QoS class of a pod.
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

// typedCheck decodes an object to its Go type and calls check.
func typedCheck[T any](object *unstructured.Unstructured, check func(*T) error) error {
	read := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, read); err != nil {
		return err
	}
	return check(read)
}

// desired returns spec.replicas or its default, 1.
func desired(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

// checkCount returns a waitingError while fewer replicas than desired are in a state.
func checkCount(what string, have, want int32) error {
	if have < want {
		return waiting("%d of %d are %s", have, want, what)
	}
	return nil
}

// checkObserved returns a waitingError while the controller of the object has not observed
// the latest generation.
func checkObserved(observed, generation int64) error {
	if observed < generation {
		return waiting("the last change is not taken up yet")
	}
	return nil
}

// firstError returns the first error that is not nil.
func firstError(all ...error) error {
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
	want := desired(d.Spec.Replicas)
	return firstError(checkObserved(d.Status.ObservedGeneration, d.Generation),
		checkCount("updated", d.Status.UpdatedReplicas, want), checkCount("available", d.Status.AvailableReplicas, want))
}

func statefulSetReady(s *appsv1.StatefulSet) error {
	want := desired(s.Spec.Replicas)
	err := firstError(checkObserved(s.Status.ObservedGeneration, s.Generation), checkCount("ready", s.Status.ReadyReplicas, want))
	if err != nil || s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return err
	}
	if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		want -= *rolling.Partition
	}
	return checkCount("updated", s.Status.UpdatedReplicas, want)
}

func daemonSetReady(d *appsv1.DaemonSet) error {
	want := d.Status.DesiredNumberScheduled
	err := firstError(checkObserved(d.Status.ObservedGeneration, d.Generation), checkCount("ready", d.Status.NumberReady, want))
	if err != nil || d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		return err
	}
	return checkCount("updated", d.Status.UpdatedNumberScheduled, want)
}

func replicaSetReady(r *appsv1.ReplicaSet) error {
	return firstError(checkObserved(r.Status.ObservedGeneration, r.Generation),
		checkCount("ready", r.Status.ReadyReplicas, desired(r.Spec.Replicas)))
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

// claimReady does not wait until the claim is bound. Many volumes are only provisioned for
// the first pod that uses the claim, and a later step may create that pod.
func claimReady(c *corev1.PersistentVolumeClaim) error {
	if c.Status.Phase == corev1.ClaimLost {
		return fmt.Errorf("its volume is lost")
	}
	return nil
}

// established checks the conditions of a CustomResourceDefinition. It does not decode the
// whole object, because the Go type does not have all our schema extensions.
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

// instanceReady uses the Ready condition only if no plan is running. Admission sets the plan
// in the same write that requires it, so without a plan the condition is up to date.
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
