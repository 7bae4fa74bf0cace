package holdfast_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/cli/reference"
)

// TestReference checks that the reference has every name of the source. The tests of package cli
// check its page about commands.
func TestReference(t *testing.T) {
	want, err := reference.Names(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("docs/reference/names.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/names.md is not what the source gives, run make reference (-want +got):\n%s", diff)
	}
}
