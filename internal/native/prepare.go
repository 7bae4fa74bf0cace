package native

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// prepareNamespace sets the status of a new namespace and adds its finalizer.
func prepareNamespace(obj runtime.Object) {
	ns := obj.(*corev1.Namespace)
	ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

// keepNamespaceFinalizers keeps spec.finalizers, which only the finalize subresource may
// change.
func keepNamespaceFinalizers(newObj, oldObj runtime.Object) {
	newObj.(*corev1.Namespace).Spec.Finalizers = oldObj.(*corev1.Namespace).Spec.Finalizers
}

// keepSecretType keeps the stored type if the request has none.
func keepSecretType(newObj, oldObj runtime.Object) {
	if secret := newObj.(*corev1.Secret); secret.Type == "" {
		secret.Type = oldObj.(*corev1.Secret).Type
	}
}

// preparePod sets the status of a new pod, with its QoS class.
func preparePod(obj runtime.Object) {
	pod := obj.(*corev1.Pod)
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: QualityOfService(&pod.Spec)}
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type:    corev1.PodScheduled,
			Status:  corev1.ConditionFalse,
			Reason:  corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates",

			LastTransitionTime: metav1.Now(),
		}}
	}
}

func keepPodQOS(newObj, oldObj runtime.Object) {
	newObj.(*corev1.Pod).Status.QOSClass = oldObj.(*corev1.Pod).Status.QOSClass
}

// keepPodStatus keeps the QoS class and the observed generations if the client sends none. A
// client of an older version does not know these fields, and would remove them.
func keepPodStatus(newObj, oldObj runtime.Object) {
	updated, old := &newObj.(*corev1.Pod).Status, &oldObj.(*corev1.Pod).Status
	// The feature DRANodeAllocatableResources is off.
	if len(old.NodeAllocatableResourceClaimStatuses) == 0 {
		updated.NodeAllocatableResourceClaimStatuses = nil
	}
	if updated.QOSClass == "" {
		updated.QOSClass = old.QOSClass
	}
	if updated.ObservedGeneration == 0 {
		updated.ObservedGeneration = old.ObservedGeneration
	}
	// Conditions of the same type are allowed. The first new one gets the generation of the
	// first old one, and so on.
	generations := map[corev1.PodConditionType][]int64{}
	for _, condition := range old.Conditions {
		generations[condition.Type] = append(generations[condition.Type], condition.ObservedGeneration)
	}
	for i := range updated.Conditions {
		condition := &updated.Conditions[i]
		left := generations[condition.Type]
		if len(left) == 0 {
			continue
		}
		if condition.ObservedGeneration == 0 {
			condition.ObservedGeneration = left[0]
		}
		generations[condition.Type] = left[1:]
	}
}

// dropNodeConfigStatus removes the status of the configuration of kubelets, which Kubernetes does not
// have any more.
func dropNodeConfigStatus(newObj, oldObj runtime.Object) {
	if oldObj.(*corev1.Node).Status.Config == nil {
		newObj.(*corev1.Node).Status.Config = nil
	}
}

// setPhaseTime sets the time at which the phase of a volume changed, unless the client set it.
func setPhaseTime(newObj, oldObj runtime.Object) {
	updated, old := &newObj.(*corev1.PersistentVolume).Status, &oldObj.(*corev1.PersistentVolume).Status
	switch {
	case updated.Phase == old.Phase && updated.LastPhaseTransitionTime == nil:
		updated.LastPhaseTransitionTime = old.LastPhaseTransitionTime
	case updated.Phase != old.Phase && (updated.LastPhaseTransitionTime == nil ||
		updated.LastPhaseTransitionTime.Equal(old.LastPhaseTransitionTime)):
		now := metav1.Now()
		updated.LastPhaseTransitionTime = &now
	}
}

// podGracePeriod returns the requested period, or else terminationGracePeriodSeconds of a pod. It returns 0 for a pod
// that is bound to no node or has ended, because no kubelet has to stop it.
func podGracePeriod(obj runtime.Object, requested *int64) int64 {
	pod := obj.(*corev1.Pod)
	switch {
	case pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return 0
	case requested != nil:
		return *requested
	case pod.Spec.TerminationGracePeriodSeconds == nil:
		return corev1.DefaultTerminationGracePeriodSeconds
	default:
		return *pod.Spec.TerminationGracePeriodSeconds
	}
}

func prepareClaim(obj runtime.Object) {
	obj.(*corev1.PersistentVolumeClaim).Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	copyDataSource(obj, &corev1.PersistentVolumeClaim{})
}

func prepareVolume(obj runtime.Object) {
	now := metav1.Now()
	obj.(*corev1.PersistentVolume).Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
}

// prepareJob generates the selector of a job and the labels of its pods from its UID, unless
// manualSelector is true.
func prepareJob(obj runtime.Object) {
	job := obj.(*batchv1.Job)
	job.Status = batchv1.JobStatus{}
	if job.Spec.ManualSelector != nil && *job.Spec.ManualSelector {
		return
	}
	uid := string(job.UID)
	labels := maps.Clone(job.Spec.Template.Labels)
	if labels == nil {
		labels = make(map[string]string, 4)
	}
	// Kubernetes sets the labels without prefix too, for older clients. Validation rejects other values.
	for label, value := range map[string]string{
		"job-name": job.Name, "controller-uid": uid, batchv1.JobNameLabel: job.Name, batchv1.ControllerUidLabel: uid,
	} {
		if _, ok := labels[label]; !ok {
			labels[label] = value
		}
	}
	job.Spec.Template.Labels = labels
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	if job.Spec.Selector.MatchLabels == nil {
		job.Spec.Selector.MatchLabels = make(map[string]string, 1)
	}
	// Validation rejects another value.
	if _, ok := job.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !ok {
		job.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] = uid
	}
}

// keepSigningRequestSpec keeps the spec of a CertificateSigningRequest. Its approval and its
// certificate are valid for this spec only.
func keepSigningRequestSpec(newObj, oldObj runtime.Object) {
	newObj.(*certificatesv1.CertificateSigningRequest).Spec = oldObj.(*certificatesv1.CertificateSigningRequest).Spec
}
