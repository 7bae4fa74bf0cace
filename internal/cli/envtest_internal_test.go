package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEnvtestFolder checks that a folder gets the programs, that a second call replaces them, and that other programs stay.
func TestEnvtestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "programs")
	for range 2 {
		made, err := createEnvtest(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range envtestNames {
			if info, err := os.Stat(filepath.Join(made, name)); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "kubectl"), []byte("real"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if _, err := createEnvtest(other, ""); err == nil || !strings.Contains(err.Error(), "kubectl is another program") {
		t.Errorf("a folder with another kubectl: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(other, "kubectl")); err != nil || string(text) != "real" {
		t.Errorf("the other kubectl is %q, %v", text, err)
	}
}

// TestEnvtestOfTemporaryProgram checks that a program that is removed when it ends is copied.
func TestEnvtestOfTemporaryProgram(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	program := filepath.Join(temp, "go-build1", "holdfast")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("program"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := linkPrograms(dir, program); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	for _, name := range envtestNames {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != "program" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func TestEnvtestVersion(t *testing.T) {
	t.Parallel()
	for wanted, want := range map[string]string{
		"1.37.2": "", "v1.37.2": "", "1.37.x": "", "1.37.x!": "", "1.37": "", "1.x": "", "latest": "",
		"1.31.0": "note", "1.36.x": "note", "1.38.x": "error", "2.0": "error", "new": "error", "": "error",
	} {
		var stderr bytes.Buffer
		err := checkEnvtestVersion(&stderr, wanted, "1.37.2")
		got := ""
		switch {
		case err != nil:
			got = "error"
		case stderr.Len() > 0:
			got = "note"
		}
		if got != want {
			t.Errorf("%q: %q (%v, %s), want %q", wanted, got, err, stderr.String(), want)
		}
	}
}
