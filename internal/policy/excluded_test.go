package policy_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/policy"
)

// TestDocumented checks that docs/policies.md lists everything that no policy may guard.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## What no policy may guard\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, name := range slices.Concat(policy.ExcludedGroups(), policy.ExcludedCore(), policy.ExcludedNamespaces()) {
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("the section does not name %s", name)
		}
	}
}
