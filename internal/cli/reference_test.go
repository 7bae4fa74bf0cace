package cli_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/cli/reference"
)

// TestReference checks that the reference has every command and flag.
func TestReference(t *testing.T) {
	got, err := os.ReadFile("../../docs/reference/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(reference.Commands(cli.Commands()), string(got)); diff != "" {
		t.Errorf("docs/reference/commands.md is not what the commands give, run make generate (-want +got):\n%s", diff)
	}
}
