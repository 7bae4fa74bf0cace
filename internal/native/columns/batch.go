package columns

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	jobStatus     = batchv1.JobStatus{}.SwaggerDoc()
	cronJobSpec   = batchv1.CronJobSpec{}.SwaggerDoc()
	cronJobStatus = batchv1.CronJobStatus{}.SwaggerDoc()
)

var jobs = table(name,
	text("Status", "How far the job is", jobState),
	text("Completions", jobStatus["succeeded"], completions),
	timed("Duration", "How long the job took, or runs by now", func(j *batchv1.Job, now time.Time) string {
		switch {
		case j.Status.StartTime == nil:
			return ""
		case j.Status.CompletionTime != nil:
			now = j.Status.CompletionTime.Time
		}
		return ageOf(j.Status.StartTime.Time, now)
	}),
	age,
	containers(jobContainers).wide(),
	images(jobContainers).wide(),
	text("Selector", batchv1.JobSpec{}.SwaggerDoc()["selector"], func(j *batchv1.Job) string {
		return metav1.FormatLabelSelector(j.Spec.Selector)
	}).wide())

func jobContainers(j *batchv1.Job) []corev1.Container {
	return j.Spec.Template.Spec.Containers
}

func jobState(j *batchv1.Job) string {
	is := map[batchv1.JobConditionType]bool{}
	for _, c := range j.Status.Conditions {
		is[c.Type] = is[c.Type] || c.Status == corev1.ConditionTrue
	}
	switch {
	case is[batchv1.JobComplete]:
		return "Complete"
	case is[batchv1.JobFailed]:
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case is[batchv1.JobSuspended]:
		return "Suspended"
	case is[batchv1.JobFailureTarget]:
		return "FailureTarget"
	}
	return "Running"
}

func completions(j *batchv1.Job) string {
	parallel := deref(j.Spec.Parallelism)
	switch {
	case j.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
	case parallel > 1:
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, parallel)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

var cronJobs = table(name,
	text("Schedule", cronJobSpec["schedule"], func(c *batchv1.CronJob) string { return c.Spec.Schedule }),
	text("Timezone", cronJobSpec["timeZone"], func(c *batchv1.CronJob) string { return valueOr(c.Spec.TimeZone, none) }),
	text("Suspend", cronJobSpec["suspend"], func(c *batchv1.CronJob) string {
		switch {
		case c.Spec.Suspend == nil:
			return unset
		case *c.Spec.Suspend:
			return "True"
		}
		return "False"
	}),
	number("Active", cronJobStatus["active"], func(c *batchv1.CronJob) int { return len(c.Status.Active) }),
	timed("Last Schedule", cronJobStatus["lastScheduleTime"], func(c *batchv1.CronJob, now time.Time) string {
		if c.Status.LastScheduleTime == nil {
			return none
		}
		return ageOf(c.Status.LastScheduleTime.Time, now)
	}),
	age,
	containers(cronJobContainers).wide(),
	images(cronJobContainers).wide(),
	text("Selector", batchv1.JobSpec{}.SwaggerDoc()["selector"], func(c *batchv1.CronJob) string {
		return metav1.FormatLabelSelector(c.Spec.JobTemplate.Spec.Selector)
	}).wide())

func cronJobContainers(c *batchv1.CronJob) []corev1.Container {
	return c.Spec.JobTemplate.Spec.Template.Spec.Containers
}
