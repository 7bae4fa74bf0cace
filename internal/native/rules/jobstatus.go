package rules

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// jobUpdate is an update of the status of a Job. Most rules apply only to fields that the update changes, so that a Job can
// be repaired step by step.
type jobUpdate struct {
	*report
	job, old *batchv1.Job
}

func jobStatus(r *report, j *batchv1.Job) {
	old, ok := r.old.(*batchv1.Job)
	if !ok {
		return
	}
	u := jobUpdate{report: r, job: j, old: old}
	r.under(func() {
		u.conditions()
		u.times()
		u.pods()
		u.indexes()
	}, "status")
}

// isTrue reports whether a Job has a condition.
func isTrue(j *batchv1.Job, types ...batchv1.JobConditionType) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return slices.Contains(types, c.Type) && c.Status == corev1.ConditionTrue
	})
}

func isFinished(j *batchv1.Job) bool { return isTrue(j, batchv1.JobComplete, batchv1.JobFailed) }

// changes reports whether the update sets or removes one of the conditions.
func (u jobUpdate) changes(types ...batchv1.JobConditionType) bool {
	return slices.ContainsFunc(types, func(t batchv1.JobConditionType) bool { return isTrue(u.job, t) != isTrue(u.old, t) })
}

func (u jobUpdate) conditions() {
	const complete, failed, failure, met = batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet
	job, old := u.job, u.old
	failedIndexes := !equalPointers(job.Status.FailedIndexes, old.Status.FailedIndexes)
	for _, problem := range []struct {
		found  bool
		detail string
	}{
		{u.changes(complete, failed) && isTrue(job, complete) && isTrue(job, failed), "cannot set Complete=True and Failed=true conditions"},
		{u.changes(complete, failure) && isTrue(job, complete) && isTrue(job, failure), "cannot set Complete=True and FailureTarget=true conditions"},
		{(u.changes(failed) || failedIndexes) && isTrue(job, failed) && !isTrue(job, failure), "cannot set Failed=True condition without the FailureTarget=true condition"},
		{u.changes(complete, met) && isTrue(job, complete) && !isTrue(job, met), "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"},
		{isTrue(job, met) && isTrue(job, failed), "cannot set SuccessCriteriaMet=True and Failed=true conditions"},
		{isTrue(job, met) && isTrue(job, failure), "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"},
		{job.Spec.SuccessPolicy != nil && isTrue(job, complete) && !isTrue(job, met), "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"},
		{isTrue(old, failed) && !isTrue(job, failed), "cannot disable the terminal Failed=True condition"},
		{isTrue(old, complete) && !isTrue(job, complete), "cannot disable the terminal Complete=True condition"},
		{isTrue(old, failure) && !isTrue(job, failure), "cannot disable the terminal FailureTarget=True condition"},
		{isTrue(old, met) && !isTrue(job, met), "cannot disable the SuccessCriteriaMet=True condition"},
		{isTrue(old, complete) && !isTrue(old, met) && isTrue(job, met), "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"},
	} {
		if problem.found {
			u.invalid(field.OmitValueType{}, problem.detail, "conditions")
		}
	}
}

func (u jobUpdate) times() {
	status, old := &u.job.Status, &u.old.Status
	start, end, isComplete := status.StartTime, status.CompletionTime, isTrue(u.job, batchv1.JobComplete)
	startChanged, endChanged := !start.Equal(old.StartTime), !end.Equal(old.CompletionTime)
	if u.changes(batchv1.JobComplete) || endChanged {
		switch {
		case end != nil && !isComplete:
			u.invalid(end, "cannot set completionTime when there is no Complete=True condition", "completionTime")
		case end == nil && isComplete:
			u.required("completionTime is required for Complete jobs", "completionTime")
		}
	}
	if (startChanged || endChanged) && start != nil && end != nil && end.Before(start) {
		u.invalid(end, "must be equal to or after `startTime`", "completionTime")
	}
	if end != nil && old.CompletionTime != nil && endChanged {
		u.immutable(end, "completionTime")
	}
	spec := &u.job.Spec
	isSuspended := spec.Suspend != nil && *spec.Suspend
	isEmpty := isSuspended && spec.Completions != nil && *spec.Completions == 0
	if (isFinished(u.job) != isFinished(u.old) || startChanged) && start == nil && isFinished(u.job) && !isEmpty {
		u.required("startTime is required for finished job", "startTime")
	}
	isResuming := isTrue(u.old, batchv1.JobSuspended) && slices.ContainsFunc(status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionFalse
	})
	if startChanged && old.StartTime != nil && !isResuming && !isSuspended {
		u.unchangeableValue(start, "field is immutable for unsuspended job once set", "startTime")
	}
}

func (u jobUpdate) pods() {
	status, old := &u.job.Status, &u.old.Status
	finished := isFinished(u.job)
	nowFinished := finished && !isFinished(u.old)
	if finished && status.Active > 0 && (nowFinished || status.Active != old.Active) {
		u.invalid(status.Active, "active>0 is invalid for finished job", "active")
	}
	if n := status.Terminating; finished && n != nil && *n > 0 && (nowFinished || !equalPointers(n, old.Terminating)) {
		u.invalid(*n, "terminating>0 is invalid for finished job", "terminating")
	}
	if n := status.Ready; n != nil && *n > status.Active && (!equalPointers(n, old.Ready) || status.Active != old.Active) {
		u.invalid(*n, "cannot set more ready pods than active", "ready")
	}
	if status.Failed < old.Failed {
		u.invalid(status.Failed, "cannot decrease the failed counter", "failed")
	}
	// An indexed Job with one pod for each index can become smaller.
	spec := &u.job.Spec
	isElastic := isIndexed(u.job) && equalPointers(spec.Completions, spec.Parallelism)
	if status.Succeeded < old.Succeeded && !isElastic {
		u.invalid(status.Succeeded, "cannot decrease the succeeded counter", "succeeded")
	}
	uncounted := status.UncountedTerminatedPods
	if uncounted == nil {
		return
	}
	if finished && len(uncounted.Failed)+len(uncounted.Succeeded) > 0 &&
		(nowFinished || !apiequality.Semantic.DeepEqual(uncounted, old.UncountedTerminatedPods)) {
		u.invalid(uncounted, "must be empty for finished job", "uncountedTerminatedPods")
	}
	var seen []types.UID
	for _, list := range []struct {
		name string
		uids []types.UID
	}{{"succeeded", uncounted.Succeeded}, {"failed", uncounted.Failed}} {
		for i, uid := range list.uids {
			switch {
			case uid == "":
				u.invalid(uid, "must not be empty", "uncountedTerminatedPods", list.name, i)
			case slices.Contains(seen, uid):
				u.duplicate(uid, "uncountedTerminatedPods", list.name, i)
			}
			seen = append(seen, uid)
		}
	}
}

func isIndexed(j *batchv1.Job) bool {
	return j.Spec.CompletionMode != nil && *j.Spec.CompletionMode == batchv1.IndexedCompletion
}

func (u jobUpdate) indexes() {
	status, spec := &u.job.Status, &u.job.Spec
	completed, failed := status.CompletedIndexes, status.FailedIndexes
	completedChanged := completed != u.old.Status.CompletedIndexes
	failedChanged := !equalPointers(failed, u.old.Status.FailedIndexes)
	parses := func(text, name string) {
		if spec.Completions == nil {
			return
		}
		if _, err := countIndexes(text, *spec.Completions); err != nil {
			u.invalid(text, fmt.Sprintf("error parsing %s: %v", name, err), name)
		}
	}
	if completedChanged {
		parses(completed, "completedIndexes")
		if completed != "" && !isIndexed(u.job) {
			u.invalid(completed, "cannot set non-empty completedIndexes when non-indexed completion mode", "completedIndexes")
		}
	}
	if failed == nil {
		return
	}
	if failedChanged && spec.BackoffLimitPerIndex == nil {
		u.invalid(*failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null", "failedIndexes")
	} else if failedChanged {
		parses(*failed, "failedIndexes")
	}
	if (failedChanged || completedChanged) && spec.Completions != nil {
		if at, overlaps := overlap(completed, *failed, *spec.Completions); overlaps {
			u.invalid(*failed, fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", at), "failedIndexes")
		}
	}
}

// overlap returns the first index that is in two texts. It ignores intervals that are not valid, for which there are other
// errors.
func overlap(a, b string, completions int32) (int32, bool) {
	for one := range strings.SplitSeq(a, ",") {
		for other := range strings.SplitSeq(b, ",") {
			oneFirst, oneLast, err := indexInterval(one, completions)
			otherFirst, otherLast, otherErr := indexInterval(other, completions)
			if err == nil && otherErr == nil && oneFirst <= otherLast && otherFirst <= oneLast {
				return max(oneFirst, otherFirst), true
			}
		}
	}
	return 0, false
}
