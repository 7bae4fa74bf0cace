package ownership_test

import (
	"fmt"

	"holdfast.dev/holdfast/ownership"
)

// The file that was applied has two replicas. kubectl edit changes them to three.
func ExampleJudge() {
	live := map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{ownership.LastApplied: `{"spec":{"replicas":2}}`}},
		"spec":     map[string]any{"replicas": int64(2)},
	}
	updated := map[string]any{"metadata": live["metadata"], "spec": map[string]any{"replicas": int64(3)}}
	verdict := ownership.Judge(ownership.Write{
		Type:   &ownership.Type{Applied: ownership.Untyped(), Managed: ownership.Untyped()},
		Live:   live,
		New:    updated,
		Writer: ownership.ParseWriter(ownership.Request{Command: "kubectl edit", FieldManager: "kubectl-edit", User: "ann"}),
	}, nil)
	for _, finding := range verdict.Findings {
		fmt.Println(finding.Kind, finding.Path)
	}
	// Output: overwrites .spec.replicas
}
