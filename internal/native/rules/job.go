package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the same time zones are valid on all hosts

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func jobRules() []rule {
	return slices.Concat(jobPolicyRules(), []rule{
		onField[batchv1.JobSpec]("parallelism", nonNegative[int32]),
		onField[batchv1.JobSpec]("completions", nonNegative[int32]),
		onField[batchv1.JobSpec]("activeDeadlineSeconds", nonNegative[int64]),
		onField[batchv1.JobSpec]("backoffLimit", nonNegative[int32]),
		onField[batchv1.JobSpec]("backoffLimitPerIndex", nonNegative[int32]),
		onField[batchv1.JobSpec]("maxFailedIndexes", nonNegative[int32]),
		onField[batchv1.JobSpec]("ttlSecondsAfterFinished", nonNegative[int32]),
		onField[batchv1.JobSpec]("managedBy", func(r *report, s string) {
			r.add(validation.IsDomainPrefixedPath(r.path(), s))
			if len(s) > 63 {
				r.add(field.ErrorList{field.TooLong(r.path(), "", 63)})
			}
		}),
		when("podReplacementPolicy", func(_ *report, s *batchv1.JobSpec) bool { return s.PodFailurePolicy == nil }),
		when("selector", func(r *report, _ *batchv1.JobSpec) bool { return !slices.Contains(r.at, any("jobTemplate")) }),
		onStruct(jobSpec),
		onStruct(indexedJob),
		onStruct(jobSelector),
		onStruct(jobName),
		onStruct(cronJobSchedule),
		onField[batchv1.CronJobSpec]("startingDeadlineSeconds", nonNegative[int64]),
		onField[batchv1.CronJobSpec]("successfulJobsHistoryLimit", nonNegative[int32]),
		onField[batchv1.CronJobSpec]("failedJobsHistoryLimit", nonNegative[int32]),
		require[batchv1.CronJobSpec]("concurrencyPolicy", ""),
		onField[batchv1.CronJobSpec]("timeZone", func(r *report, zone string) {
			old, ok := r.old.(*batchv1.CronJob)
			if !ok || old.Spec.TimeZone == nil || *old.Spec.TimeZone != zone {
				timeZone(r, zone)
			}
		}),
		onStruct(func(r *report, s *batchv1.JobTemplateSpec) {
			if s.Spec.Selector != nil {
				r.invalid(s.Spec.Selector, "`selector` will be auto-generated", "spec", "selector")
			}
			if m := s.Spec.ManualSelector; m != nil && *m {
				r.unsupported(true, []string{"nil", "false"}, "spec", "manualSelector")
			}
		}),
	})
}

func jobSpec(r *report, s *batchv1.JobSpec) {
	if s.MaxFailedIndexes != nil && s.BackoffLimitPerIndex == nil {
		r.required("when maxFailedIndexes is specified", "backoffLimitPerIndex")
	}
	never, onFailure := corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure
	at := []any{"template", "spec", "restartPolicy"}
	switch policy := s.Template.Spec.RestartPolicy; {
	case policy == corev1.RestartPolicyAlways || policy == "":
		r.required(fmt.Sprintf("valid values: %q, %q", onFailure, never), at...)
	case policy != onFailure && policy != never:
		r.unsupported(policy, []string{string(never), string(onFailure)}, at...)
	case s.PodFailurePolicy != nil && policy != never:
		r.invalid(policy, fmt.Sprintf("only %q is supported when podFailurePolicy is specified", never), at...)
	}
	if p := s.PodReplacementPolicy; s.PodFailurePolicy != nil && p != nil && *p != batchv1.Failed {
		r.unsupported(string(*p), []string{string(batchv1.Failed)}, "podReplacementPolicy")
	}
}

func indexedJob(r *report, s *batchv1.JobSpec) {
	switch {
	case s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion:
		indexLimits(r, s)
		return
	case s.CompletionMode == nil || *s.CompletionMode == batchv1.NonIndexedCompletion:
		const detail = "requires indexed completion mode"
		if s.BackoffLimitPerIndex != nil {
			r.invalid(*s.BackoffLimitPerIndex, detail, "backoffLimitPerIndex")
		}
		if s.MaxFailedIndexes != nil {
			r.invalid(*s.MaxFailedIndexes, detail, "maxFailedIndexes")
		}
	}
	if s.SuccessPolicy != nil {
		r.invalid(s.SuccessPolicy, "requires indexed completion mode", "successPolicy")
	}
}

// indexLimits limits the numbers of an indexed job, so that its status does not become too large.
func indexLimits(r *report, s *batchv1.JobSpec) {
	const limit, lower = 100_000, 10_000
	exceeds := func(n *int32, most int32) bool { return n != nil && *n > most }
	if s.Completions == nil {
		r.required("when completion mode is Indexed", "completions")
	}
	if exceeds(s.Parallelism, limit) {
		r.invalid(*s.Parallelism, fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", limit), "parallelism")
	}
	if s.Completions != nil && exceeds(s.MaxFailedIndexes, *s.Completions) {
		r.invalid(*s.MaxFailedIndexes, "must be less than or equal to completions", "maxFailedIndexes")
	}
	if exceeds(s.MaxFailedIndexes, limit) {
		r.invalid(*s.MaxFailedIndexes, fmt.Sprintf("must be less than or equal to %d", limit), "maxFailedIndexes")
	}
	if !exceeds(s.Completions, limit) || s.BackoffLimitPerIndex == nil {
		return
	}
	if s.MaxFailedIndexes == nil {
		r.required(fmt.Sprintf("must be specified when completions is above %d", limit), "maxFailedIndexes")
	}
	detail := fmt.Sprintf("must be less than or equal to %d when completions are above %d and used with backoff limit per index", lower, limit)
	if exceeds(s.Parallelism, lower) {
		r.invalid(*s.Parallelism, detail, "parallelism")
	}
	if exceeds(s.MaxFailedIndexes, lower) {
		r.invalid(*s.MaxFailedIndexes, detail, "maxFailedIndexes")
	}
}

// jobSelector checks the selector of a Job, and that the server has generated it unless the client manages it.
func jobSelector(r *report, j *batchv1.Job) {
	if j.Spec.Selector == nil {
		r.required("", "spec", "selector")
	}
	if selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector); err == nil && !selector.Matches(labels.Set(j.Spec.Template.Labels)) {
		r.invalid(j.Spec.Template.Labels, selectorMismatch, "spec", "template", "metadata", "labels")
	}
	if j.Spec.Selector == nil || j.Spec.ManualSelector != nil && *j.Spec.ManualSelector {
		return
	}
	generated := map[string]string{"controller-uid": string(j.UID), "job-name": j.Name}
	if old, ok := r.old.(*batchv1.Job); !ok || hasPrefixedLabels(old) {
		generated[batchv1.ControllerUidLabel], generated[batchv1.JobNameLabel] = string(j.UID), j.Name
	}
	for _, label := range sortedKeys(generated) {
		at := []any{"spec", "template", "metadata", "labels", key(label)}
		switch got, ok := j.Spec.Template.Labels[label]; {
		case !ok:
			r.required(fmt.Sprintf("must be '%s'", generated[label]), at...)
		case got != generated[label]:
			r.invalid(j.Spec.Template.Labels, fmt.Sprintf("must be '%s'", generated[label]), at...)
		}
	}
	if selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector); err == nil && !selector.Matches(labels.Set(generated)) {
		r.invalid(j.Spec.Selector, "`selector` not auto-generated", "spec", "selector")
	}
}

// hasPrefixedLabels reports whether the server that stored a Job has set the labels with a domain. Older versions did not.
func hasPrefixedLabels(j *batchv1.Job) bool {
	_, hasName := j.Spec.Template.Labels[batchv1.JobNameLabel]
	_, hasUID := j.Spec.Template.Labels[batchv1.ControllerUidLabel]
	return hasName && hasUID
}

// jobName checks that the host name of the last pod of an indexed job is a DNS label. The host name
// is the name of the job with the index of the pod.
func jobName(r *report, j *batchv1.Job) {
	s := &j.Spec
	if s.CompletionMode == nil || *s.CompletionMode != batchv1.IndexedCompletion || s.Completions == nil || *s.Completions < 1 {
		return
	}
	last := fmt.Sprintf("%s-%d", j.Name, *s.Completions-1)
	if len(validation.IsDNS1123Label(last)) > 0 {
		r.invalid(j.Name, "will not able to create pod with invalid DNS label: "+last, "metadata", "name")
	}
}

var zonePart = regexp.MustCompile(`^[-+._0-9A-Za-z]{1,14}$`)

func timeZone(r *report, zone string) {
	if zone == "" {
		r.invalid(zone, "timeZone must be nil or non-empty string")
		return
	}
	for part := range strings.SplitSeq(zone, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || !zonePart.MatchString(part) {
			r.invalid(zone, "unknown time zone "+zone)
			return
		}
	}
	if strings.EqualFold(zone, "Local") {
		r.invalid(zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
	}
	if _, err := time.LoadLocation(zone); err != nil {
		r.invalid(zone, err.Error())
	}
}
