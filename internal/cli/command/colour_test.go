package command_test

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/command"
)

// TestColours checks when there are colours, and which lines have them.
func TestColours(t *testing.T) {
	t.Parallel()
	root, below := &cobra.Command{Use: "a"}, &cobra.Command{Use: "b"}
	root.AddCommand(below)
	command.AddColourFlag(root)
	var out bytes.Buffer
	const diff = "--- a\n+++ b\n@@ -1 +1 @@\n same\n-old\n+new\n - item\n"
	for value, want := range map[string]string{
		"auto": diff, "never": diff,
		"always": "\x1b[1m--- a\x1b[0m\n\x1b[1m+++ b\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n same\n\x1b[31m-old\x1b[0m\n\x1b[32m+new\x1b[0m\n - item\n",
	} {
		if err := root.PersistentFlags().Set("color", value); err != nil {
			t.Fatal(err)
		}
		if got := command.Diff(below, &out, diff); got != want {
			t.Errorf("%s: %q", value, got)
		}
	}
	if err := root.PersistentFlags().Set("color", "always"); err != nil {
		t.Fatal(err)
	}
	const plan = "Boat/argo in namespace a: must be replaced\n  ~ spec.hull: oak -> steel\nBoat/b: unchanged\nplan: 1 refused\n"
	want := "\x1b[31mBoat/argo in namespace a: must be replaced\x1b[0m\n\x1b[33m  ~ spec.hull: oak -> steel\x1b[0m\nBoat/b: unchanged\nplan: 1 refused\n"
	if got := command.Plan(below, &out, plan); got != want {
		t.Errorf("plan: %q", got)
	}
	if got := command.Refusal(below, &out, "upgrade refused:\nmore"); got != "\x1b[31mupgrade refused:\x1b[0m\nmore" {
		t.Errorf("refusal: %q", got)
	}
	if err := root.PersistentFlags().Set("color", "sometimes"); err == nil {
		t.Error("--color=sometimes: no error")
	}
}
