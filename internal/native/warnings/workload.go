package warnings

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podNames is where Kubernetes uses the name of a workload.
const podNames = "Pod names and hostnames"

// hostname warns about a name that is no DNS label.
func (l *list) hostname(name, use string) {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		l.add("metadata.name: this is used in %s, which can result in surprising behavior; a DNS label is recommended: %v", use, problems)
	}
}

// workload adds the warnings about the pod template of an object, if it has one.
func (l *list) workload(obj runtime.Object) {
	spec := field.NewPath("spec")
	switch obj := obj.(type) {
	case *corev1.PodTemplate:
		l.template(field.NewPath("template"), &obj.Template)
	case *corev1.ReplicationController:
		if obj.Spec.Template != nil {
			l.template(spec.Child("template"), obj.Spec.Template)
		}
	case *appsv1.Deployment:
		l.template(spec.Child("template"), &obj.Spec.Template)
	case *appsv1.ReplicaSet:
		l.template(spec.Child("template"), &obj.Spec.Template)
	case *appsv1.DaemonSet:
		l.template(spec.Child("template"), &obj.Spec.Template)
	case *appsv1.StatefulSet:
		l.template(spec.Child("template"), &obj.Spec.Template)
	case *batchv1.Job:
		l.job(spec, &obj.Spec)
	case *batchv1.CronJob:
		l.job(spec.Child("jobTemplate", "spec"), &obj.Spec.JobTemplate.Spec)
	}
}

// workloadUpdate adds the warnings about the pod template if the update changes the generation:
// a write of metadata does not repeat them.
func (l *list) workloadUpdate(newObj, oldObj runtime.Object) {
	updated, err := meta.Accessor(newObj)
	if err != nil {
		return
	}
	old, err := meta.Accessor(oldObj)
	if err != nil || updated.GetGeneration() == old.GetGeneration() {
		return
	}
	if controller, ok := oldObj.(*corev1.ReplicationController); ok {
		// Kubernetes judges the old template of a ReplicationController.
		l.workload(controller)
		return
	}
	l.workload(newObj)
}

func (l *list) job(path *field.Path, spec *batchv1.JobSpec) {
	const completionsLimit, parallelismLimit = 100_000, 10_000
	isIndexed := spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
	if isIndexed && above(spec.Completions, completionsLimit) && above(spec.Parallelism, parallelismLimit) {
		l.at(path, "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "+
			"Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	l.template(path.Child("template"), &spec.Template)
}

func above(value *int32, limit int32) bool { return value != nil && *value > limit }

// schedule warns about a time zone in the schedule of a CronJob.
func (l *list) schedule(job *batchv1.CronJob) {
	if strings.Contains(job.Spec.Schedule, "TZ") {
		l.add("cannot use TZ or CRON_TZ in %s, use timeZone instead, "+
			"see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details", field.NewPath("spec", "spec", "schedule"))
	}
}

// claimTemplates adds the warnings about the claims of a StatefulSet. Kubernetes names the field
// of the spec only in updates.
func (l *list) claimTemplates(set *appsv1.StatefulSet, below string) {
	for i := range set.Spec.VolumeClaimTemplates {
		path := field.NewPath("spec", "volumeClaimTemplates").Index(i)
		if below != "" {
			path = path.Child(below)
		}
		l.claimSpec(path, &set.Spec.VolumeClaimTemplates[i].Spec)
	}
	if limit := set.Spec.RevisionHistoryLimit; limit != nil && *limit < 0 {
		l.add("spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")
	}
}

func (l *list) template(path *field.Path, template *corev1.PodTemplateSpec) {
	l.pod(path, &template.Spec, template.Annotations)
}
