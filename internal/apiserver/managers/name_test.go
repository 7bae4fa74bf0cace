package managers

import (
	"strings"
	"testing"
)

// TestNameOf takes the name of a client from its user agent, like the library.
func TestNameOf(t *testing.T) {
	for agent, want := range map[string]string{
		"":                               "",
		"kubectl/v1.32.0 (linux/amd64)":  "kubectl",
		"a\tb\x00c":                      "abc",
		"ä/b":                            "ä",
		strings.Repeat("a", 127) + "äb":  strings.Repeat("a", 127),
		strings.Repeat("a", 200) + "/v1": strings.Repeat("a", 128),
	} {
		if got := NameOf("", agent); got != want {
			t.Errorf("%q is %q, want %q", agent, got, want)
		}
	}
	if got := NameOf("m", "kubectl/v1"); got != "m" {
		t.Errorf("the field manager m is %q", got)
	}
}
