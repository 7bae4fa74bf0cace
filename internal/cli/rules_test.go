package cli_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/cli/command"
)

// traits say of each command which of the common flags it must have, and that it must have no others of them: s for a server, n for a namespace, A
// for all namespaces, w for writes of objects, o for a format, W for waiting if the user asks, T for a limit of the time, f for files.
var traits = map[string]string{
	"backup": "s", "completion": "", "demo": "", "doctor": "so", "envtest": "", "envtest use": "",
	"guard audit": "so", "guard convert": "f", "guard init": "swo", "guard serve": "s", "guard uninstall": "sw",
	"history":                  "sno",
	"kubeconfig":               "swo",
	"kudo diagnostics collect": "sn", "kudo get": "snAo", "kudo init": "swoWT", "kudo install": "snwoWT", "kudo manager": "s",
	"kudo package add maintainer": "", "kudo package add parameter": "", "kudo package add plan": "", "kudo package add task": "",
	"kudo package create": "", "kudo package list parameters": "o", "kudo package list plans": "o", "kudo package list tasks": "o",
	"kudo package migrate": "", "kudo package new": "", "kudo package verify": "",
	"kudo plan cancel": "snw", "kudo plan history": "sno", "kudo plan status": "snoWT", "kudo plan trigger": "snwWT", "kudo plan wait": "snT",
	"kudo repo add": "", "kudo repo context": "", "kudo repo index": "", "kudo repo list": "o", "kudo repo remove": "",
	"kudo rollback": "snwoWT", "kudo search": "o", "kudo uninstall": "snwWT", "kudo update": "snwoWT", "kudo upgrade": "snwoWT",
	"kudo version": "o",
	"node status":  "o",
	"owners":       "snAof",
	"restore":      "",
	"revoke":       "swo",
	"schema check": "so", "schema compile": "of", "schema diff": "sof", "schema generate": "o", "schema lint": "of", "schema migrate": "swT",
	"schema prune": "of", "schema skeleton": "of", "schema update": "of",
	"series adopt": "snw", "series history": "sno", "series roll": "snwoWT", "series rollback": "snwoWT", "series unused": "snAo",
	"series used": "sno", "serve": "", "transfer": "snAw", "undo": "snwo", "version": "o",
}

// flagOf is the flag of each trait.
var flagOf = map[string]string{
	"s": "context", "n": "namespace", "A": "all-namespaces", "w": "dry-run", "o": "output", "W": "wait", "T": "timeout", "f": "filename",
}

// format matches the help of a flag -o.
var format = regexp.MustCompile(`\b(json|yaml)\b`)

// TestCommonFlags checks that every command has the common flags that it needs, under their one name and with their one meaning.
func TestCommonFlags(t *testing.T) {
	t.Parallel()
	var found []string
	walk(cli.Commands(), func(cmd *cobra.Command) {
		path := strings.Join(pathOf(cmd), " ")
		if cmd.HasSubCommands() && !cmd.HasLocalFlags() {
			return
		}
		found = append(found, path)
		want, known := traits[path]
		if path == "node" {
			want, known = "s", true
		}
		if !known {
			t.Errorf("%s: no line in traits", path)
		}
		for trait, flag := range flagOf {
			if has := command.Has(cmd, flag); has != strings.Contains(want, trait) {
				t.Errorf("%s: --%s: %t, want %t", path, flag, has, !has)
			}
		}
		checkFlags(t, cmd)
	})
	for path := range traits {
		if !slices.Contains(found, path) {
			t.Errorf("%s: there is no such command", path)
		}
	}
}

// checkFlags checks the flags of a command that have a meaning in all commands.
func checkFlags(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	if command.Has(cmd, "kubeconfig") != command.Has(cmd, "context") && cmd.Name() != "serve" {
		t.Errorf("%s: --kubeconfig and --context belong together", cmd.CommandPath())
	}
	if command.Has(cmd, "wait") && !command.Has(cmd, "timeout") {
		t.Errorf("%s: --wait needs --timeout", cmd.CommandPath())
	}
	for name, want := range map[string]struct{ short, kind, without string }{
		"output": {"o", "string", ""}, "filename": {"f", "strings", ""}, "namespace": {"n", "string", ""}, "all-namespaces": {"A", "bool", "true"},
		"dry-run": {"", "string", "server"}, "timeout": {"", "duration", ""},
	} {
		flag := cmd.Flags().Lookup(name)
		if flag == nil {
			continue
		}
		kind := strings.Replace(flag.Value.Type(), "stringSlice", "strings", 1)
		if flag.Shorthand != want.short || kind != want.kind || flag.NoOptDefVal != want.without {
			t.Errorf("%s: -%s, --%s %s (%s without a value): want %v", cmd.CommandPath(), flag.Shorthand, name, kind, flag.NoOptDefVal, want)
		}
		if name == "output" && !format.MatchString(flag.Usage) {
			t.Errorf("%s: -o takes a format: %s", cmd.CommandPath(), flag.Usage)
		}
	}
}
