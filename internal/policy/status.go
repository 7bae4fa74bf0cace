package policy

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Reported returns a copy of a policy with the status of a report, nil if the policy has that status or is of another generation.
func Reported(policy *unstructured.Unstructured, said Report) *unstructured.Unstructured {
	// A policy of the same name may have replaced the one that the report is about.
	if policy.GetGeneration() != said.Generation || policy.GetUID() != said.UID {
		return nil
	}
	ready, reason, message := "True", "InForce", "all rules are in force"
	if len(said.Problems) > 0 {
		ready, reason, message = "False", "Incomplete", strings.Join(said.Problems, "\n")
	}
	if len(said.Notes) > 0 {
		message += "\n" + strings.Join(said.Notes, "\n")
	}
	matched := make([]any, len(said.Matched))
	for i, text := range said.Matched {
		matched[i] = text
	}
	before, _, _ := unstructured.NestedSlice(policy.Object, "status", "conditions")
	since := metav1.Now().UTC().Format(time.RFC3339)
	if len(before) == 1 {
		was, _ := before[0].(map[string]any)
		if was["status"] == ready {
			since, _ = was["lastTransitionTime"].(string)
		}
		guarded, _, _ := unstructured.NestedSlice(policy.Object, "status", "guarded")
		if was["status"] == ready && was["message"] == message && was["observedGeneration"] == said.Generation &&
			fmt.Sprint(guarded) == fmt.Sprint(matched) {
			return nil
		}
	}
	updated := policy.DeepCopy()
	updated.Object["status"] = map[string]any{
		"guarded": matched,
		"conditions": []any{map[string]any{
			"type": "Ready", "status": ready, "reason": reason, "message": message,
			"lastTransitionTime": since, "observedGeneration": said.Generation,
		}},
	}
	return updated
}
