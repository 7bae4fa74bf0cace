package rules

import (
	"fmt"
	"time"
	_ "time/tzdata" // the same time zones are valid on all hosts

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func jobRules() []rule {
	return []rule{
		onField[batchv1.JobSpec]("parallelism", nonNegative[int32]),
		onField[batchv1.JobSpec]("completions", nonNegative[int32]),
		onField[batchv1.JobSpec]("activeDeadlineSeconds", nonNegative[int64]),
		onField[batchv1.JobSpec]("backoffLimit", nonNegative[int32]),
		onField[batchv1.JobSpec]("backoffLimitPerIndex", nonNegative[int32]),
		onField[batchv1.JobSpec]("maxFailedIndexes", nonNegative[int32]),
		onField[batchv1.JobSpec]("ttlSecondsAfterFinished", nonNegative[int32]),
		onStruct(jobSpec),
		onStruct(indexedJob),
		onStruct(jobName),
		notRequired[batchv1.PodFailurePolicy]("rules"),
		onField[batchv1.PodFailurePolicy]("rules", func(r *report, rules []batchv1.PodFailurePolicyRule) {
			if len(rules) > 20 {
				r.add(field.ErrorList{field.TooMany(r.path(), len(rules), 20)})
			}
		}),
		onStruct(failureRule),

		onField[batchv1.CronJobSpec]("startingDeadlineSeconds", nonNegative[int64]),
		onField[batchv1.CronJobSpec]("successfulJobsHistoryLimit", nonNegative[int32]),
		onField[batchv1.CronJobSpec]("failedJobsHistoryLimit", nonNegative[int32]),
		onField[batchv1.CronJobSpec]("timeZone", timeZone),
		onStruct(cronJobSchedule),
		onStruct(func(r *report, s *batchv1.JobTemplateSpec) {
			if s.Spec.Selector != nil {
				r.invalid(s.Spec.Selector, "`selector` will be auto-generated", "spec", "selector")
			}
			if m := s.Spec.ManualSelector; m != nil && *m {
				r.unsupported(true, []string{"nil", "false"}, "spec", "manualSelector")
			}
		}),
	}
}

func jobSpec(r *report, s *batchv1.JobSpec) {
	if s.ManualSelector != nil && *s.ManualSelector && s.Selector == nil {
		r.required("", "selector")
	}
	if s.Selector != nil {
		templateMatches(r, s.Selector, &s.Template)
	}
	policy := s.Template.Spec.RestartPolicy
	if policy == corev1.RestartPolicyAlways || policy == "" {
		r.required(fmt.Sprintf("valid values: %q, %q", corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever),
			"template", "spec", "restartPolicy")
	}
	if s.PodFailurePolicy == nil {
		return
	}
	if policy != corev1.RestartPolicyNever {
		r.invalid(policy, fmt.Sprintf("only %q is supported when podFailurePolicy is specified", corev1.RestartPolicyNever),
			"template", "spec", "restartPolicy")
	}
	for i, rule := range s.PodFailurePolicy.Rules {
		if rule.Action == batchv1.PodFailurePolicyActionFailIndex && s.BackoffLimitPerIndex == nil {
			r.invalid(rule.Action, "requires the backoffLimitPerIndex to be set", "podFailurePolicy", "rules", i, "action")
		}
	}
	if p := s.PodReplacementPolicy; p != nil && *p != batchv1.Failed {
		r.unsupported(string(*p), []string{string(batchv1.Failed)}, "podReplacementPolicy")
	}
}

func indexedJob(r *report, s *batchv1.JobSpec) {
	const limit = 100_000
	if s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion {
		if s.Completions == nil {
			r.required("when completion mode is Indexed", "completions")
		}
		if s.Parallelism != nil && *s.Parallelism > limit {
			r.invalid(*s.Parallelism, fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", limit), "parallelism")
		}
		return
	}
	if s.BackoffLimitPerIndex != nil {
		r.invalid(*s.BackoffLimitPerIndex, "requires indexed completion mode", "backoffLimitPerIndex")
	}
	if s.MaxFailedIndexes != nil {
		r.invalid(*s.MaxFailedIndexes, "requires indexed completion mode", "maxFailedIndexes")
	}
	if s.SuccessPolicy != nil {
		r.invalid(s.SuccessPolicy, "requires indexed completion mode", "successPolicy")
	}
}

// jobName checks that the host name of the last pod of an indexed job is a DNS label. The host name
// is the name of the job with the index of the pod.
func jobName(r *report, j *batchv1.Job) {
	s := &j.Spec
	if !r.create || s.CompletionMode == nil || *s.CompletionMode != batchv1.IndexedCompletion || s.Completions == nil || *s.Completions < 1 {
		return
	}
	last := fmt.Sprintf("%s-%d", j.Name, *s.Completions-1)
	if len(validation.IsDNS1123Label(last)) > 0 {
		r.invalid(j.Name, "will not able to create pod with invalid DNS hostname: "+last, "metadata", "name")
	}
}

func failureRule(r *report, f *batchv1.PodFailurePolicyRule) {
	switch codes, conditions := f.OnExitCodes != nil, len(f.OnPodConditions) > 0; {
	case codes && conditions:
		r.invalid(field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported")
	case !codes && !conditions:
		r.invalid(field.OmitValueType{}, "specifying one of OnExitCodes and OnPodConditions is required")
	}
}

func timeZone(r *report, zone string) {
	switch zone {
	case "":
		r.invalid(zone, "timeZone must be nil or non-empty string")
		return
	case "Local", "local":
		r.invalid(zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
	}
	if _, err := time.LoadLocation(zone); err != nil {
		r.invalid(zone, err.Error())
	}
}
