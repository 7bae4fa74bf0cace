package ownership_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/holdfast/ownership"
)

// TestIsWarning checks that every warning is recognized, and that those of others are not.
func TestIsWarning(t *testing.T) {
	t.Parallel()
	kinds := []ownership.Kind{ownership.Overwrites, ownership.Reverts, ownership.ChangesForeign, ownership.TakesOver}
	verdicts := []ownership.Verdict{{Note: "why"}, {Resource: "v1/ConfigMap/c", Replaced: true}, {Resource: "v1/ConfigMap/c", Lost: true}}
	for _, kind := range kinds {
		for _, manager := range []string{"", "ci"} {
			for _, count := range []int{1, 4, 200} {
				verdict := ownership.Verdict{Resource: "v1/ConfigMap/c", Writer: ownership.Writer{Command: "kubectl patch"}}
				for i := range count {
					path, err := ownership.ParsePath(fmt.Sprintf(".data.%s%d", strings.Repeat("k", 40), i))
					if err != nil {
						t.Fatal(err)
					}
					finding := ownership.Finding{Kind: kind, Path: path, Live: "1", New: "2", Applied: "1", Manager: manager}
					verdict.Findings = append(verdict.Findings, finding)
				}
				verdicts = append(verdicts, verdict)
			}
		}
	}
	for i := range verdicts {
		for _, line := range verdicts[i].Warnings() {
			if !ownership.IsWarning(line) {
				t.Errorf("not recognized: %s", line)
			}
		}
	}
	for _, line := range []string{
		"", "metadata.finalizers: prefer a domain-qualified finalizer name", `unknown field "spec.sise"`, "and now something else",
		`spec.size: field is immutable: changed from "1" to "2", which policy sizes forbids`,
	} {
		if ownership.IsWarning(line) {
			t.Errorf("recognized: %s", line)
		}
	}
}
