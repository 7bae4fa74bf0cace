package tree_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/cli/reference"
)

// TestReference checks that the reference has every name of the source. The tests of package cli
// check its page about commands.
func TestReference(t *testing.T) {
	want, err := reference.Names(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(root + "/docs/reference/names.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/names.md is not what the source gives, run make generate (-want +got):\n%s", diff)
	}
}
