package upgrade_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/holdfast/internal/cli"
)

// current is the path of this program, as it is started to serve.
var current string

// TestMain runs the tests. Under the name holdfast it runs the program instead.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "holdfast" {
		os.Exit(cli.Main())
	}
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "upgrade-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	current = filepath.Join(dir, "holdfast")
	if err := os.Symlink(self, current); err != nil {
		return 0, err
	}
	return m.Run(), nil
}
