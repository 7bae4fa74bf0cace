package schema_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/schema"
	"holdfast.dev/holdfast/internal/cli/scripttest"
)

// TestMain makes the test binary a holdfast with the command schema only, which links faster
// than the whole program.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"holdfast": func() { os.Exit(holdfast()) }})
}

func holdfast() int {
	root := &cobra.Command{Use: "holdfast", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(schema.New("v0.0.0"))
	cmd, err := root.ExecuteContextC(context.Background())
	if err != nil {
		fmt.Fprintf(os.Stderr, "holdfast: %v\n", err)
	}
	return command.Code(cmd, err)
}

// TestScripts runs the scripts in testdata. UPDATE_SCRIPTS=1 writes the expected outputs.
func TestScripts(t *testing.T) {
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                "testdata",
		RequireUniqueNames: true,
		UpdateScripts:      os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", filepath.Join(folder, "..", "..", ".."))
			// The home directory of a script is empty. The go command has its caches in the real
			// one.
			env.Setenv("REALHOME", os.Getenv("HOME"))
			program, err := exec.LookPath("holdfast")
			env.Setenv("HOLDFAST", program)
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"action": runAction, "examples": runExamples, "exits": scripttest.Exits, "holdfast": runHoldfast, "hook": runHook,
		},
	})
}

// runHoldfast is the script command that runs the program.
func runHoldfast(ts *testscript.TestScript, neg bool, args []string) {
	if err := ts.Exec("holdfast", args...); (err != nil) != neg {
		ts.Fatalf("holdfast %s: %v", strings.Join(args, " "), err)
	}
}
