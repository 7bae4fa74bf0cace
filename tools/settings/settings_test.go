package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	environment := map[string]string{"HOLDFAST_IMAGE": "registry.example.com/b", "HOLDFAST_TAP": ""}
	lookup := func(name string) (string, bool) {
		value, ok := environment[name]
		return value, ok
	}
	tests := map[string]struct{ text, want string }{
		"all":        {"# a comment\n\nHOLDFAST_IMAGE=a\nHOLDFAST_DOWNLOADS=https://example.com/a=b\nHOLDFAST_TAP=x\n", ""},
		"unknown":    {"HOLDFAST_IMAGE=a\nHOLDFAST_IMAG=a\n", "release.env:2: HOLDFAST_IMAG is no setting"},
		"no prefix":  {"IMAGE=a\n", "release.env:1: IMAGE is no setting"},
		"twice":      {"HOLDFAST_TAP=a\nHOLDFAST_TAP=b\n", "release.env:2: HOLDFAST_TAP is set twice"},
		"quotes":     {"HOLDFAST_TAP=\"a\"\n", "without spaces, quotes and variables"},
		"incomplete": {"HOLDFAST_TAP=a\n", "HOLDFAST_DOWNLOADS must have a value"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "release.env")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Read(file, lookup)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %s", err, test.want)
				}
				return
			}
			want := Settings{Image: "registry.example.com/b", Downloads: "https://example.com/a=b"}
			if err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

// TestCommitted reads the settings of the checkout.
func TestCommitted(t *testing.T) {
	got, err := Read(filepath.Join("..", "..", filepath.FromSlash(File)), func(string) (string, bool) { return "", false })
	if err != nil || got.Image == "" || got.Remote == "" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := Read("absent.env", os.LookupEnv); err == nil {
		t.Error("no error for a file that does not exist")
	}
}
