package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/cli/command"
)

// calls are command lines of all commands that need a server, by the command. With a server, each of them would begin its work.
var calls = map[string]string{
	"backup":                   "DIR/out.backup",
	"diff":                     "--plan -f DIR/object.yaml",
	"doctor":                   "",
	"guard audit":              "",
	"guard init":               "",
	"guard serve":              "",
	"guard uninstall":          "",
	"kubeconfig":               "jane",
	"kudo diagnostics collect": "--instance x -O DIR/diagnostics",
	"kudo get":                 "",
	"kudo init":                "",
	"kudo install":             "DIR/package",
	"kudo plan cancel":         "x",
	"kudo plan history":        "x",
	"kudo plan status":         "x",
	"kudo plan trigger":        "x deploy",
	"kudo plan wait":           "x",
	"kudo rollback":            "x",
	"kudo uninstall":           "x",
	"kudo update":              "x -p A=b",
	"kudo upgrade":             "DIR/package",
	"history":                  "configmaps/x",
	"owners":                   "configmaps/x",
	"revoke":                   "--user x",
	"schema check":             "--objects cluster",
	"schema diff":              "--objects cluster DIR/crd.yaml DIR/crd.yaml",
	"schema migrate":           "secrets",
	"series adopt":             "x cm/x",
	"series history":           "x",
	"series roll":              "x --all --from-literal a=b",
	"series rollback":          "x",
	"series unused":            "",
	"series used":              "cm/x",
	"transfer":                 "configmaps/x --field .data.a --to imperative",
	"undo":                     "configmaps/x --to 1",
}

// withoutAnswer are the commands that have the flag --kubeconfig and do not end without a server: serve writes that file, and the agent of
// a node and the manager wait for the server.
var withoutAnswer = map[string]bool{"serve": true, "node": true, "kudo manager": true}

// TestNoServer checks that every command that needs a server exits with 2 if there is no kubeconfig, and if no server answers, and that it says
// what to do next.
func TestNoServer(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"kubeconfig": "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n" +
			"contexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\nusers: [{name: a, user: {token: a}}]\n",
		"object.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}",
		"crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: boats.example.com}\n" +
			"spec: {group: example.com, scope: Namespaced, names: {plural: boats, kind: Boat}, versions: [{name: v1, served: true, storage: true," +
			" schema: {openAPIV3Schema: {type: object}}}]}\n",
		"package/operator.yaml": "name: x\noperatorVersion: 0.1.0\ntasks: [{name: a, kind: Apply, spec: {resources: [a.yaml]}}]\n" +
			"plans: {deploy: {phases: [{name: main, steps: [{name: s, tasks: [a]}]}]}}\n",
		"package/params.yaml":      "parameters: []",
		"package/templates/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}",
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", dir)
	for kubeconfig, next := range map[string]string{"none": `"holdfast serve" prints`, "kubeconfig": "start "} {
		t.Setenv("KUBECONFIG", filepath.Join(dir, kubeconfig))
		for path, args := range calls {
			line := append(strings.Fields(path), strings.Fields(strings.ReplaceAll(args, "DIR", dir))...)
			out, err := run(t.Context(), line...)
			if code := command.Code(nil, err); code != command.ExitUnable {
				t.Errorf("%s with %s: exit code %d, want %d: %v", path, kubeconfig, code, command.ExitUnable, err)
			}
			if text := out + errorText(err); !strings.Contains(text, next) || strings.Contains(text, "localhost:8080") {
				t.Errorf("%s with %s: %q is not in: %s", path, kubeconfig, next, text)
			}
		}
	}
	walk(cli.Commands(), func(cmd *cobra.Command) {
		path := strings.Join(pathOf(cmd), " ")
		if _, called := calls[path]; !called && isLeaf(cmd) && cmd.Flags().Lookup("kubeconfig") != nil && !withoutAnswer[path] {
			t.Errorf("%s: no command line in calls", path)
		}
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestExitCodes checks the exit codes of wrong command lines, of refusals and of success.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"version":                            command.ExitDone,
		"version -o xml":                     command.ExitUnable,
		"version extra":                      command.ExitUnable,
		"serve --data-dirs x":                command.ExitUnable,
		"kudo instal":                        command.ExitUnable,
		"kudo install /no/such/folder":       command.ExitUnable,
		"owners --stuk":                      command.ExitUnable,
		"transfer":                           command.ExitUnable,
		"help kudo instal":                   command.ExitUnable,
		"restore /no/such/file --check":      command.ExitUnable,
		"schema lint /no/such/file":          command.ExitUnable,
		"diff --plan -f /no/such/file":       command.ExitUnable,
		"guard convert":                      command.ExitUnable,
		"restore exit_test.go --check":       command.ExitRefused,
		"schema lint testdata/findings.yaml": command.ExitRefused,
	} {
		_, err := run(t.Context(), strings.Fields(line)...)
		if code := command.Code(nil, err); code != want {
			t.Errorf("%s: exit code %d, want %d: %v", line, code, want, err)
		}
	}
}
