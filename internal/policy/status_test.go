package policy_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/policy"
)

// TestReported checks that a report is only written into the policy that it is about, and not into another one of the same name and generation.
func TestReported(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		report  policy.Report
		written bool
	}{
		"this policy":              {policy.Report{Generation: 1, UID: "new"}, true},
		"another generation":       {policy.Report{Generation: 2, UID: "new"}, false},
		"a policy that it follows": {policy.Report{Generation: 1, UID: "old"}, false},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetName("sizes")
		obj.SetUID("new")
		obj.SetGeneration(1)
		if written := policy.Reported(obj, test.report) != nil; written != test.written {
			t.Errorf("%s: the report is written: %t", name, written)
		}
	}
}
