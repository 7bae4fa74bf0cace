package series_test

import (
	"errors"
	"os"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/cli/scripttest"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestMain makes the test binary the program holdfast, for the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"holdfast": func() { os.Exit(cli.Main()) }})
}

// TestScripts runs the scripts in testdata on one server, each in a namespace of its own. UPDATE_SCRIPTS=1 writes the expected outputs.
func TestScripts(t *testing.T) { scripttest.Run(t, scripttest.Commands{"eventually": eventually}) }

// eventually is the script command that runs a program again until a line of its output matches a pattern, because an index of the server
// may be a moment behind.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually PATTERN PROGRAM [ARGS...]")
	}
	pattern := regexp.MustCompile("(?m)" + args[0])
	waittest.Until(fatal{ts}, "the output has "+args[0], func() error {
		if err := ts.Exec(args[1], args[2:]...); err != nil {
			return err
		}
		if out := ts.ReadFile("stdout"); !pattern.MatchString(out) {
			return errors.New(out)
		}
		return nil
	})
}

// fatal makes a script fail.
type fatal struct{ *testscript.TestScript }

// Helper implements waittest.TB.
func (fatal) Helper() {}
