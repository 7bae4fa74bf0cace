package cli_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testBackup backs up a running server, checks the file and restores it. A file that is cut off is refused,
// and a backup that fails leaves the old file as it is.
func testBackup(t *testing.T, admin string) {
	t.Helper()
	dir := t.TempDir()
	file, cut, restored := filepath.Join(dir, "a.backup"), filepath.Join(dir, "cut.backup"), filepath.Join(dir, "restored")
	steps := []struct {
		args []string
		// want is a part of the output, or of the error if the command fails.
		want string
	}{
		{[]string{"backup", file, "--kubeconfig", admin}, "backup written to " + file + ": "},
		{[]string{"restore", file, "--check"}, "is complete and undamaged: "},
		{[]string{"restore", file, "--check"}, "\nIts objects are not encrypted.\n"},
		{[]string{"backup", file, "--without-keys", "--encryption-provider-config", "x"}, "use one of them"},
		{[]string{"restore", file, "--data-dir", restored}, "Start the server with: holdfast serve --data-dir " + restored + "\n"},
		{[]string{"restore", file, "--data-dir", restored}, "is not empty"},
		{[]string{"backup", filepath.Join(dir, "b.backup"), "--data-dir", restored}, "backup written to "},
		{[]string{"backup", file, "--data-dir", dir}, "is not the data directory of a server"},
		{[]string{"restore", file, "--check"}, "is complete and undamaged: "},
		{[]string{"restore", cut, "--check"}, "the backup is incomplete: its end is missing"},
		{[]string{"restore", cut, "--data-dir", filepath.Join(dir, "other")}, "the backup is incomplete: its end is missing"},
	}
	for _, step := range steps {
		if _, err := os.Stat(cut); err != nil && step.args[1] == cut {
			cutOff(t, file, cut)
		}
		out, err := run(t.Context(), step.args...)
		if err != nil {
			out = err.Error()
		}
		if !strings.Contains(out, step.want) {
			t.Errorf("%s: got %q, want %q", step.args, out, step.want)
		}
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := run(interrupted, "backup", filepath.Join(dir, "c.backup"), "--kubeconfig", admin)
	if err == nil || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "no backup was written") {
		t.Errorf("interrupted: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.partial-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if stat, err := os.Stat(file); err != nil || stat.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v: %v", stat.Mode(), err)
	}
}

// cutOff writes the first half of a file to another one.
func cutOff(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content[:len(content)/2], 0o600); err != nil {
		t.Fatal(err)
	}
}
