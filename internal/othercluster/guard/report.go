package guard

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/internal/connection"
)

// The results of a report, as both kinds of reports define them.
const (
	resultPass  = "pass"
	resultFail  = "fail"
	resultWarn  = "warn"
	resultError = "error"
	resultSkip  = "skip"
)

// The properties of a result.
const (
	// propertyCount is the number of equal refusals. Only refusals have it.
	propertyCount = "count"
	// propertyFix says how to mend a finding.
	propertyFix = "fix"
)

// maxRefusals bounds the refusals in a report. The newest stay.
const maxRefusals = 100

// reportKind is a kind of reports that other programs install and show.
type reportKind struct {
	resource schema.GroupVersionResource
	kind     string
}

// reportKinds returns the kinds that the guard can write, the preferred one first.
func reportKinds() []reportKind {
	return []reportKind{
		{schema.GroupVersionResource{Group: "openreports.io", Version: "v1alpha1", Resource: "clusterreports"}, "ClusterReport"},
		{schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "clusterpolicyreports"}, "ClusterPolicyReport"},
	}
}

// result is one result of a report.
type result struct {
	// policy is the name of a policy or of a definition.
	policy, rule, outcome, message string
	// resource is the object that the result is about. It may be nil.
	resource   map[string]any
	properties map[string]any
	at         time.Time
}

func (r result) object() map[string]any {
	out := map[string]any{
		"source": Name, "policy": r.policy, "result": r.outcome, "message": r.message, "category": "Immutability",
		"timestamp": map[string]any{"seconds": r.at.Unix(), "nanos": int64(0)},
	}
	if r.rule != "" {
		out["rule"] = r.rule
	}
	if r.resource != nil {
		out["resources"] = []any{r.resource}
	}
	if len(r.properties) > 0 {
		out["properties"] = r.properties
	}
	return out
}

// reporter writes the report of the guard, if the cluster has a kind for it.
type reporter struct {
	server *connection.Connection
	// installed reports whether the cluster has a definition.
	installed func(name string) bool
}

// update changes the results of the report. It does nothing if the cluster has no kind of reports.
func (r reporter) update(ctx context.Context, change func(results []any) []any) error {
	all := reportKinds()
	at := slices.IndexFunc(all, func(k reportKind) bool { return r.installed(k.resource.GroupResource().String()) })
	if at < 0 {
		return nil
	}
	reports := r.server.Dynamic.Resource(all[at].resource)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found, err := reports.Get(ctx, Name, metav1.GetOptions{})
		isNew := apierrors.IsNotFound(err)
		if isNew {
			found, err = &unstructured.Unstructured{}, nil
			found.SetAPIVersion(all[at].resource.GroupVersion().String())
			found.SetKind(all[at].kind)
			found.SetName(Name)
			found.SetLabels(map[string]string{"app.kubernetes.io/managed-by": Name})
		}
		if err != nil {
			return err
		}
		results, _, _ := unstructured.NestedSlice(found.Object, "results")
		results = change(results)
		found.Object["results"], found.Object["summary"] = results, summaryOf(results)
		if isNew {
			_, err = reports.Create(ctx, found, metav1.CreateOptions{FieldManager: Name})
		} else {
			_, err = reports.Update(ctx, found, metav1.UpdateOptions{FieldManager: Name})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", all[at].kind, Name, err)
	}
	return nil
}

// summaryOf counts results.
func summaryOf(results []any) map[string]any {
	out := map[string]any{resultPass: int64(0), resultFail: int64(0), resultWarn: int64(0), resultError: int64(0), resultSkip: int64(0)}
	for _, each := range results {
		one, _ := each.(map[string]any)
		outcome, _ := one["result"].(string)
		if count, known := out[outcome].(int64); known {
			out[outcome] = count + 1
		}
	}
	return out
}

// countIn returns how often a refusal of a report happened, zero for other results.
func countIn(each any) int {
	one, _ := each.(map[string]any)
	text, _, _ := unstructured.NestedString(one, "properties", propertyCount)
	count, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return count
}

// isRefusal reports whether a result of a report is a refusal, or a warning about an update.
func isRefusal(each any) bool { return countIn(each) > 0 }
