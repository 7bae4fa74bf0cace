package defaults

import (
	"maps"
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

func job(j *batchv1.Job) {
	s := &j.Spec
	// A job with parallelism and without completions is a work queue: it ends when its pods end, so completions stays unset.
	if s.Parallelism == nil {
		setDefaultPtr(&s.Completions, 1)
	}
	setDefaultPtr(&s.Parallelism, 1)
	if s.BackoffLimitPerIndex != nil {
		setDefaultPtr(&s.BackoffLimit, math.MaxInt32)
	}
	setDefaultPtr(&s.BackoffLimit, 6)
	setDefaultPtr(&s.CompletionMode, batchv1.NonIndexedCompletion)
	setDefaultPtr(&s.Suspend, false)
	setDefaultPtr(&s.ManualSelector, false)
	if s.PodFailurePolicy != nil {
		setDefaultPtr(&s.PodReplacementPolicy, batchv1.Failed)
	}
	setDefaultPtr(&s.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	if len(j.Labels) == 0 {
		j.Labels = maps.Clone(s.Template.Labels)
	}
	jobTemplate(s)
}

// cronJob sets the defaults of the pod template, but not those of the job spec: they are set when the Job is created.
func cronJob(c *batchv1.CronJob) {
	setDefault(&c.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	setDefaultPtr(&c.Spec.Suspend, false)
	setDefaultPtr(&c.Spec.SuccessfulJobsHistoryLimit, 3)
	setDefaultPtr(&c.Spec.FailedJobsHistoryLimit, 1)
	jobTemplate(&c.Spec.JobTemplate.Spec)
}

func jobTemplate(s *batchv1.JobSpec) {
	podSpec(&s.Template.Spec)
	if s.PodFailurePolicy == nil {
		return
	}
	for _, rule := range s.PodFailurePolicy.Rules {
		forEach(rule.OnPodConditions, func(p *batchv1.PodFailurePolicyOnPodConditionsPattern) {
			setDefault(&p.Status, corev1.ConditionTrue)
		})
	}
}
