package cli_test

import (
	"slices"
	"strings"
	"testing"
)

// TestHelp checks that the help lists the commands of Holdfast in groups, without those of
// kubectl, and leads to a list of the latter.
func TestHelp(t *testing.T) {
	want, err := run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(want) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && strings.HasPrefix(line, "  ") && !strings.HasPrefix(name, "-") {
			listed = append(listed, name)
		}
	}
	slices.Sort(listed)
	if got := strings.Join(listed, " "); got != "backup completion demo doctor envtest guard help history kubeconfig kubectl kudo node owners restore revoke schema series serve transfer undo version" {
		t.Errorf("the help lists %s", got)
	}
	if strings.Contains(want, "Additional Commands") {
		t.Errorf("a command has no group:\n%s", want)
	}
	for _, args := range [][]string{{"help"}, {"--help"}, {"-h"}} {
		if got, err := run(t.Context(), args...); err != nil || got != want {
			t.Errorf("%s: %v\n%s", args, err, got)
		}
	}
	for line, want := range map[string]string{
		"help sirve": `unknown command "sirve" for "holdfast"`, "help kudo instal": "unknown command \"instal\" for \"holdfast kudo\"\nDid you mean install?",
	} {
		if _, err := run(t.Context(), strings.Fields(line)...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
	for line, want := range map[string]string{
		"kubectl":         "Basic Commands (Beginner):",
		"help kubectl":    "Basic Commands (Beginner):",
		"kubectl options": "--kubeconfig=''",
		"help kudo":       "Install, update, upgrade and roll back operator packages",
		"help owners":     "Show the fields of an object",
		"help get":        "Display one or many resources",
		"owners --help":   "Show the fields of an object",
		"--version":       "holdfast dev\n",
		"version -o json": `"kubernetes": "v1.`,
		"version -o yaml": "kubernetes: v1.",
		"__complete ser":  "serve\tServe the Kubernetes API",
	} {
		if got, err := run(t.Context(), strings.Fields(line)...); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v\n%s", line, err, got)
		}
	}
}
