package kubectl_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestScripts runs stock kubectl against a server with the default configuration.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata", apiserver.Config{})
}

// TestGuarded runs our own commands against a server that does not check
// ownership, like any other Kubernetes server.
func TestGuarded(t *testing.T) {
	t.Parallel()
	runScripts(t, filepath.Join("testdata", "guarded"), apiserver.Config{Ownership: "off"})
}

// runScripts runs the scripts of a directory against one server. Each has its own
// namespace.
func runScripts(t *testing.T, dir string, config apiserver.Config) {
	kubeconfig := servertest.Start(t, config).Kubeconfig()
	dist, err := filepath.Abs(filepath.Join("..", "..", "dist"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                dir,
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			namespace := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
			own := filepath.Join(env.WorkDir, ".kubeconfig")
			if err := enter(t, kubeconfig, own, namespace); err != nil {
				return err
			}
			env.Setenv("KUBECONFIG", own)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("NAMESPACE", namespace)
			env.Setenv("DIST", dist)
			env.Setenv("GOGC", commandGOGC)
			env.Values[ownServer{}] = &ownServer{}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"advice":     runAdvice,
			"kubectl":    run("kubectl"),
			"holdfast":   run("holdfast"),
			"eventually": awaitOutput,
			"includes":   compareLines,
			"kubelet":    startKubelet,
			"server":     serve,
			"table":      compareTable,
			"typed-put":  typedPut,
			"webhook":    startWebhook,
		},
	})
}

// commandGOGC is the GOGC of the commands. A command needs little memory and ends before it matters,
// and with less garbage collection it takes a tenth less processor time.
const commandGOGC = "800"

// enter creates a namespace and writes a kubeconfig in which it is the default.
func enter(t *testing.T, admin, own, namespace string) error {
	config, err := clientcmd.LoadFromFile(admin)
	if err != nil {
		return err
	}
	config.Contexts[config.CurrentContext].Namespace = namespace
	if err := clientcmd.WriteToFile(*config, own); err != nil {
		return err
	}
	rest, err := clientcmd.BuildConfigFromFlags("", own)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return err
	}
	servertest.CreateNamespace(t, client, namespace)
	return nil
}

// run returns the script command that runs a program.
func run(program string) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		err := ts.Exec(program, args...)
		switch {
		case err != nil && !neg:
			ts.Fatalf("%s %s: %v", program, strings.Join(args, " "), err)
		case err == nil && neg:
			ts.Fatalf("%s %s: unexpected success", program, strings.Join(args, " "))
		}
	}
}

// scripted is a script that waits.
type scripted struct{ *testscript.TestScript }

// Helper implements waittest.TB.
func (scripted) Helper() {}

// awaitOutput is the script command eventually. It repeats another command until its output matches.
func awaitOutput(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually PATTERN COMMAND [ARGS...]")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	command := strings.Join(args[1:], " ")
	waittest.Until(scripted{ts}, "the output of "+command+" matches "+args[0], func() error {
		failed := ts.Exec(args[1], args[2:]...)
		// A script can wait for an error too.
		output := ts.ReadFile("stdout")
		if failed != nil {
			output = ts.ReadFile("stderr")
		}
		if !pattern.MatchString(output) {
			return errors.Join(fmt.Errorf("it printed %q", output), failed)
		}
		return nil
	})
}

// compareTable is the script command table.
func compareTable(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: table FILE")
	}
	got, want := normalizeTables(ts.ReadFile("stdout")), normalizeTables(ts.ReadFile(args[0]))
	if got != want {
		ts.Fatalf("stdout and %s differ\n--- stdout\n%s--- %s\n%s", args[0], got, args[0], want)
	}
}

// compareLines is the script command includes.
func compareLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: includes FILE")
	}
	there := map[string]bool{}
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		there[strings.Join(strings.Fields(line), " ")] = true
	}
	var missing []string
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if !there[strings.Join(strings.Fields(line), " ")] {
			missing = append(missing, line)
		}
	}
	if len(missing) > 0 {
		ts.Fatalf("lines of %s that are not in stdout:\n%s", args[0], strings.Join(missing, ""))
	}
}
