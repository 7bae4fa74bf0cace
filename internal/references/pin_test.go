package references_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/references"
)

// A text of pins has the pins, and other texts have none.
func TestPins(t *testing.T) {
	t.Parallel()
	pins := []references.Pin{{references.ConfigMap, "settings-5f2", "0a1b"}, {references.Secret, "db-1", "77ab"}}
	text := references.FormatPins(pins)
	if want := "configmaps/settings-5f2 0a1b, secrets/db-1 77ab"; text != want {
		t.Errorf("text %q, want %q", text, want)
	}
	if diff := cmp.Diff(pins, references.ParsePins(text)); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "pods/web 1", "configmaps/a", "configmaps/ 1", "secrets/A 1", "secrets/a 1 2", "secrets"} {
		if got := references.ParsePins(text); got != nil {
			t.Errorf("%q has the pins %v", text, got)
		}
	}
	if got := references.ParsePins("?, secrets/db-1 77ab"); !cmp.Equal(got, pins[1:]) {
		t.Errorf("pins beside another text: %v", got)
	}
}

// The text of many pins is short enough for a condition, and has whole pins only.
func TestPinsBound(t *testing.T) {
	t.Parallel()
	var pins []references.Pin
	for i := range 1000 {
		pins = append(pins, references.Pin{Kind: references.Secret, Name: fmt.Sprintf("%s-%d", strings.Repeat("x", 200), i), UID: "77ab"})
	}
	text := references.FormatPins(pins)
	got := references.ParsePins(text)
	if len(text) > 16<<10 || len(got) < 50 || !cmp.Equal(got, pins[:len(got)]) {
		t.Errorf("%d bytes with %d pins", len(text), len(got))
	}
	if got := references.ParsePins(strings.Repeat("x", 1<<20) + ", " + text); got != nil {
		t.Error("the parser read a text beyond the bound")
	}
}
