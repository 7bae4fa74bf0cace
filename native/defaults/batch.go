package defaults

import (
	"maps"
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

func job(j *batchv1.Job) {
	s := &j.Spec
	// With parallelism alone the job is a work queue, done when any of its pods says so: completions stay open.
	if s.Parallelism == nil {
		fillPtr(&s.Completions, 1)
	}
	fillPtr(&s.Parallelism, 1)
	if s.BackoffLimitPerIndex != nil {
		fillPtr(&s.BackoffLimit, math.MaxInt32)
	}
	fillPtr(&s.BackoffLimit, 6)
	fillPtr(&s.CompletionMode, batchv1.NonIndexedCompletion)
	fillPtr(&s.Suspend, false)
	fillPtr(&s.ManualSelector, false)
	if s.PodFailurePolicy != nil {
		fillPtr(&s.PodReplacementPolicy, batchv1.Failed)
	}
	fillPtr(&s.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	if len(j.Labels) == 0 {
		j.Labels = maps.Clone(s.Template.Labels)
	}
	jobTemplate(s)
}

// cronJob completes the pods of the jobs to come, but not their counts: those jobs are defaulted when they are created.
func cronJob(c *batchv1.CronJob) {
	fill(&c.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	fillPtr(&c.Spec.Suspend, false)
	fillPtr(&c.Spec.SuccessfulJobsHistoryLimit, 3)
	fillPtr(&c.Spec.FailedJobsHistoryLimit, 1)
	jobTemplate(&c.Spec.JobTemplate.Spec)
}

func jobTemplate(s *batchv1.JobSpec) {
	podSpec(&s.Template.Spec)
	if s.PodFailurePolicy == nil {
		return
	}
	for _, rule := range s.PodFailurePolicy.Rules {
		each(rule.OnPodConditions, func(p *batchv1.PodFailurePolicyOnPodConditionsPattern) {
			fill(&p.Status, corev1.ConditionTrue)
		})
	}
}
