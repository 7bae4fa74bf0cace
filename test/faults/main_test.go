package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
)

// programNames are the names under which this test binary is a program of its own.
var programNames = []string{"holdfast", "etcd", "smalldisk", "user"}

// programs is the folder with a link to this test binary for each name.
var programs string

// TestMain runs the tests. Under one of programNames it runs that program instead.
func TestMain(m *testing.M) {
	switch name := filepath.Base(os.Args[0]); {
	case name == "smalldisk":
		fmt.Fprintln(os.Stderr, runOnSmallDisk(os.Args))
		os.Exit(1)
	case name == "user":
		if err := runUser(os.Args, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case slices.Contains(programNames, name):
		if os.Getenv(pausedVariable) != "" {
			pauseSelf()
		}
		os.Exit(cli.Main())
	}
	servertest.Quiet()
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "faults-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	for _, name := range programNames {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			return 0, err
		}
	}
	programs = dir
	return m.Run(), nil
}
