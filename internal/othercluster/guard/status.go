package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/policy"
)

// coverage says which of the rules the API server asks the guard about.
type coverage struct {
	rules *policy.Table
	live  *configuration
	// failed is why the configuration could not be written.
	failed error
}

// limit returns a report without the resources that the configuration lacks. They are problems.
func (c coverage) limit(said policy.Report) policy.Report {
	out := policy.Report{Generation: said.Generation, Problems: slices.Clone(said.Problems)}
	for _, text := range said.Matched {
		r := c.rules.Resources[schema.ParseGroupResource(text)]
		if coversAll(c.live, r) {
			out.Matched = append(out.Matched, text)
			continue
		}
		out.Problems = append(out.Problems, fmt.Sprintf("%s: the API server does not ask the guard about it: %v", text, c.failed))
	}
	return out
}

// writeStatus writes what a policy matches and what it cannot, if the status differs.
func (l *leader) writeStatus(ctx context.Context, name string, said policy.Report) error {
	policies := l.server.Dynamic.Resource(policy.Policies())
	cached, known, err := l.rules.policies.GetStore().GetByKey(name)
	if err != nil || !known {
		return err
	}
	obj, ok := cached.(*unstructured.Unstructured)
	if !ok || obj.GetGeneration() != said.Generation {
		return nil
	}
	ready, reason, message := "True", "InForce", "all rules are in force"
	if len(said.Problems) > 0 {
		ready, reason, message = "False", "Incomplete", strings.Join(said.Problems, "\n")
	}
	matched := make([]any, len(said.Matched))
	for i, text := range said.Matched {
		matched[i] = text
	}
	before, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	since := metav1.Now().UTC().Format(time.RFC3339)
	if len(before) == 1 {
		was, _ := before[0].(map[string]any)
		if was["status"] == ready {
			since, _ = was["lastTransitionTime"].(string)
		}
		guarded, _, _ := unstructured.NestedSlice(obj.Object, "status", "guarded")
		if was["status"] == ready && was["message"] == message && was["observedGeneration"] == said.Generation &&
			fmt.Sprint(guarded) == fmt.Sprint(matched) {
			return nil
		}
	}
	updated := obj.DeepCopy()
	updated.Object["status"] = map[string]any{
		"guarded": matched,
		"conditions": []any{map[string]any{
			"type": "Ready", "status": ready, "reason": reason, "message": message,
			"lastTransitionTime": since, "observedGeneration": said.Generation,
		}},
	}
	_, err = policies.UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: Name})
	return err
}
