package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// jobPolicyRules are the rules for the policies that decide when a Job fails or succeeds.
func jobPolicyRules() []rule {
	return []rule{
		notRequired[batchv1.PodFailurePolicy]("rules"),
		onField[batchv1.PodFailurePolicy]("rules", atMostItems[batchv1.PodFailurePolicyRule](20)),
		require[batchv1.PodFailurePolicyRule]("action", `valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`),
		onField[batchv1.PodFailurePolicyRule]("onPodConditions", atMostItems[batchv1.PodFailurePolicyOnPodConditionsPattern](20)),
		require[batchv1.PodFailurePolicyOnExitCodesRequirement]("operator", `valid values: ["In" "NotIn"]`),
		notRequired[batchv1.PodFailurePolicyOnExitCodesRequirement]("values"),
		onStruct(exitCodes),
		notRequired[batchv1.PodFailurePolicyOnPodConditionsPattern]("type"),
		onField[batchv1.PodFailurePolicyOnPodConditionsPattern]("type", func(r *report, t corev1.PodConditionType) { labelKey(r, string(t)) }),
		require[batchv1.PodFailurePolicyOnPodConditionsPattern]("status", `valid values: ["False" "True" "Unknown"]`),
		oneOf[batchv1.PodFailurePolicyOnPodConditionsPattern]("status", "False", "True", "Unknown"),
		onStruct(failureRule),
		onStruct(failurePolicy),

		when("successPolicy", func(_ *report, s *batchv1.JobSpec) bool {
			return s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion
		}),
		require[batchv1.SuccessPolicy]("rules", "at least one rules must be specified when the successPolicy is specified"),
		onField[batchv1.SuccessPolicy]("rules", atMostItems[batchv1.SuccessPolicyRule](20)),
		onStruct(successPolicy),
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

// failurePolicy checks that the rules of a policy refer to containers of the job, and to what its spec has.
func failurePolicy(r *report, s *batchv1.JobSpec) {
	if s.PodFailurePolicy == nil {
		return
	}
	for i, rule := range s.PodFailurePolicy.Rules {
		r.under(func() {
			if rule.Action == batchv1.PodFailurePolicyActionFailIndex && s.BackoffLimitPerIndex == nil {
				r.invalid(rule.Action, "requires the backoffLimitPerIndex to be set", "action")
			}
			if codes := rule.OnExitCodes; codes != nil && codes.ContainerName != nil && !isContainer(&s.Template.Spec, *codes.ContainerName) {
				r.invalid(*codes.ContainerName, "must be one of the container or initContainer names in the pod template", "onExitCodes", "containerName")
			}
		}, "podFailurePolicy", "rules", i)
	}
}

func exitCodes(r *report, q *batchv1.PodFailurePolicyOnExitCodesRequirement) {
	if len(q.Values) == 0 {
		r.invalid(q.Values, "at least one value is required", "values")
	}
	r.under(func() { atMostItems[int32](255)(r, q.Values) }, "values")
	for i, code := range q.Values {
		if q.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && code == 0 {
			r.invalid(code, "must not be 0 for the In operator", "values", i)
		}
		if slices.Contains(q.Values[:i], code) {
			r.duplicate(code, "values", i)
		}
	}
	if !slices.IsSorted(q.Values) {
		r.invalid(q.Values, "must be ordered", "values")
	}
}

// successPolicy checks the rules for the success of an indexed job.
func successPolicy(r *report, s *batchv1.JobSpec) {
	isIndexed := s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion
	if !isIndexed || s.SuccessPolicy == nil || s.Completions == nil {
		return
	}
	for i, rule := range s.SuccessPolicy.Rules {
		r.under(func() { successRule(r, rule, *s.Completions) }, "successPolicy", "rules", i)
	}
}

func successRule(r *report, rule batchv1.SuccessPolicyRule, completions int32) {
	const longest = 64 << 10
	count := rule.SucceededCount
	if count == nil && rule.SucceededIndexes == nil {
		r.required("at least one of succeededCount or succeededIndexes must be specified")
	}
	var total int32
	if indexes := rule.SucceededIndexes; indexes != nil {
		if len(*indexes) > longest {
			r.add(field.ErrorList{field.TooLong(r.path("succeededIndexes"), "", longest)})
		}
		var err error
		if total, err = countIndexes(*indexes, completions); err != nil {
			r.invalid(*indexes, "error parsing succeededIndexes: "+err.Error(), "succeededIndexes")
		}
	}
	if count == nil {
		return
	}
	r.under(func() {
		nonNegative(r, *count)
		if *count > completions {
			r.invalid(*count, fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions))
		}
		if rule.SucceededIndexes != nil && *count > total {
			r.invalid(*count, fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", total))
		}
	}, "succeededCount")
}

// countIndexes returns the number of indexes in a text such as "1,3-5,7". All of them are below completions.
func countIndexes(text string, completions int32) (int32, error) {
	if text == "" {
		return 0, nil
	}
	total, last := int32(0), int32(-1)
	for interval := range strings.SplitSeq(text, ",") {
		first, end, err := indexInterval(interval, completions)
		if err != nil {
			return 0, err
		}
		if total > 0 && last >= first {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", last, first)
		}
		total, last = total+end-first+1, end
	}
	return total, nil
}

func indexInterval(text string, completions int32) (first, last int32, err error) {
	parts := strings.Split(text, "-")
	if len(parts) > 2 {
		return 0, 0, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", text)
	}
	var limits []int32
	for _, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return 0, 0, fmt.Errorf("cannot convert string to integer for index: %q", part)
		}
		if n >= int(completions) {
			return 0, 0, fmt.Errorf("too large index: %q", part)
		}
		limits = append(limits, int32(n)) //nolint:gosec // it is less than an int32
	}
	if len(limits) == 2 && limits[0] >= limits[1] {
		return 0, 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", limits[0], limits[1])
	}
	return limits[0], limits[len(limits)-1], nil
}
