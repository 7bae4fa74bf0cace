package history_test

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/cli/scripttest"
)

// TestMain makes the test binary the program holdfast, for the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"holdfast": func() { os.Exit(cli.Main()) }})
}

// TestScripts runs the scripts in testdata on one server, each in a namespace of its own. UPDATE_SCRIPTS=1 writes the expected outputs.
func TestScripts(t *testing.T) { scripttest.Run(t, nil) }
