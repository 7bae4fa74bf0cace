package image

import (
	"strings"
	"testing"
)

func TestImage(t *testing.T) {
	defer func() { linked = "" }()
	tests := map[string]struct {
		linked, given, want string
		noted               bool
	}{
		"built without a registry":   {"", "", "holdfast:v1", true},
		"with the placeholder":       {"holdfast", "", "holdfast:v1", true},
		"with a registry":            {"registry.example.com/holdfast", "", "registry.example.com/holdfast:v1", false},
		"given":                      {"", "registry.example.com/a:v1", "", false},
		"given, and on the nodes":    {"registry.example.com/holdfast", "holdfast:v1", "", false},
		"given, of another version":  {"", "holdfast:v2", "", false},
		"given as it is without one": {"", "holdfast:v1", "", true},
	}
	for name, test := range tests {
		linked = test.linked
		image := test.given
		if image == "" {
			if image = Default("v1"); image != test.want {
				t.Errorf("%s: got %s, want %s", name, image, test.want)
			}
		}
		var out strings.Builder
		Note(&out, image, "v1")
		if noted := strings.Contains(out.String(), "no registry has the image "+image); noted != test.noted {
			t.Errorf("%s: said %q", name, out.String())
		}
	}
}
