package schema_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"
)

// action is the part of a GitHub Action that the tests run.
type action struct {
	Name, Description string
	Inputs            map[string]struct{ Description, Default string }
	Runs              struct {
		Using string
		Steps []struct {
			Name, Shell, If, Run string
			Env                  map[string]string
		}
	}
}

// runAction is the script command action. It runs the steps of the GitHub Action with the given
// inputs, as a runner would. The job fails if a step fails.
func runAction(ts *testscript.TestScript, neg bool, args []string) {
	var a action
	readStrict(ts, filepath.Join(ts.Getenv("ROOT"), "dist", "ci", "action.yml"), &a)
	if a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 || a.Name == "" || a.Description == "" {
		ts.Fatalf("no composite action: %+v", a)
	}
	inputs := map[string]string{}
	for name, input := range a.Inputs {
		inputs[name] = input.Default
	}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		if _, ok := inputs[name]; !ok {
			ts.Fatalf("the action has no input %s", name)
		}
		inputs[name] = value
	}
	expression := regexp.MustCompile(`\$\{\{ inputs\.([\w-]+) \}\}`)
	condition := regexp.MustCompile(`^inputs\.([\w-]+) != ''$`)
	for _, step := range a.Runs.Steps {
		if step.If != "" {
			match := condition.FindStringSubmatch(step.If)
			if match == nil {
				ts.Fatalf("step %s: the test does not know the condition %s", step.Name, step.If)
			}
			if inputs[match[1]] == "" {
				continue
			}
		}
		var environment []string
		for name, value := range step.Env {
			value = expression.ReplaceAllStringFunc(value, func(text string) string {
				return inputs[expression.FindStringSubmatch(text)[1]]
			})
			environment = append(environment, name+"="+value)
		}
		if step.Shell != "bash" || strings.Contains(strings.Join(environment, " ")+step.Run, "${{") {
			ts.Fatalf("step %s: not a step for bash, or an expression in it", step.Name)
		}
		err := ts.Exec("env", append(environment, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)...)
		switch {
		case err != nil && neg:
			return
		case err != nil:
			ts.Fatalf("step %s: %v", step.Name, err)
		}
	}
	if neg {
		ts.Fatalf("unexpected success")
	}
}

// hook is a hook of pre-commit.
type hook struct {
	ID, Name, Description, Entry, Language, Exclude string
	Args                                            []string
	Types                                           []string `json:"types_or"`
	PassFilenames                                   *bool    `json:"pass_filenames"`
}

// runHook is the script command hook. It runs a hook for the given files, as pre-commit would.
func runHook(ts *testscript.TestScript, neg bool, args []string) {
	root := ts.Getenv("ROOT")
	var hooks []hook
	// pre-commit finds the file by this name only.
	readStrict(ts, filepath.Join(root, ".pre-commit-hooks.yaml"), &hooks)
	for _, h := range hooks {
		if h.ID != args[0] {
			continue
		}
		// pre-commit installs the programs of a Go repository with "go install ./...".
		if program, _, _ := strings.Cut(h.Entry, " "); h.Language != "golang" || !exists(filepath.Join(root, "cmd", program)) {
			ts.Fatalf("hook %s: pre-commit cannot install %s", h.ID, program)
		}
		exclude := regexp.MustCompile(h.Exclude)
		command := append(strings.Fields(h.Entry), h.Args...)
		for _, file := range args[1:] {
			if (h.PassFilenames == nil || *h.PassFilenames) && (h.Exclude == "" || !exclude.MatchString(file)) {
				command = append(command, file)
			}
		}
		if err := ts.Exec(command[0], command[1:]...); (err != nil) != neg {
			ts.Fatalf("%s: %v", strings.Join(command, " "), err)
		}
		return
	}
	ts.Fatalf("there is no hook %s", args[0])
}

// runExamples is the script command examples. It runs each line of the examples in the help
// texts of commands, as it stands. A command may find something, but must be able to judge.
func runExamples(ts *testscript.TestScript, neg bool, args []string) {
	for _, command := range args {
		ts.Check(ts.Exec("holdfast", "schema", command, "--help"))
		_, text, _ := strings.Cut(ts.ReadFile("stdout"), "Examples:\n")
		text, _, _ = strings.Cut(text, "\nFlags:")
		ran := 0
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			// The others need a server.
			if line == "" || line[0] == '#' || strings.Contains(line, "kubectl ") || strings.Contains(line, "cluster") {
				continue
			}
			err := ts.Exec("bash", "-o", "pipefail", "-c", line)
			var failed *exec.ExitError
			if err != nil && (!errors.As(err, &failed) || failed.ExitCode() != 1) || neg {
				ts.Fatalf("%s: %v", line, err)
			}
			ran++
		}
		if ran == 0 {
			ts.Fatalf("the help of %s has no example", command)
		}
	}
}

// readStrict reads a YAML file without unknown fields.
func readStrict(ts *testscript.TestScript, name string, into any) {
	data, err := os.ReadFile(name)
	ts.Check(err)
	ts.Check(yaml.UnmarshalStrict(data, into))
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
