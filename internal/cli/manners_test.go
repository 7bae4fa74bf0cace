package cli_test

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/cli"
)

// walk calls a function for each command of Holdfast, those of kubectl left out.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() && below.Name() != "help" && below.Name() != "kubectl" {
			visit(below)
			walk(below, visit)
		}
	}
}

// isLeaf reports whether a command has no commands below it.
func isLeaf(cmd *cobra.Command) bool { return !cmd.HasSubCommands() }

// pathOf returns the words of a command after the name of the program.
func pathOf(cmd *cobra.Command) []string { return strings.Fields(cmd.CommandPath())[1:] }

// names are words that keep their capital at the beginning of a text. libraryFlags are flags whose
// help is that of a library of Kubernetes.
var (
	names        = regexp.MustCompile(`^(API|APIs|Apply|CA|HTTP|ID|ImmutableEphemeralVolumes|IP|JSON|URL|YAML)\b`)
	libraryFlags = regexp.MustCompile(`^(audit-|requestheader-|(feature-gates|filename|kustomize|recursive)$)`)
)

// TestHelpTexts checks the texts of every command and flag.
func TestHelpTexts(t *testing.T) {
	walk(cli.Commands(), func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if len(cmd.Short) > 80 || cmd.Short == "" || !unicode.IsUpper([]rune(cmd.Short)[0]) || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: the short help must be one line with a capital and without a period: %q", path, cmd.Short)
		}
		if isLeaf(cmd) && !strings.Contains(cmd.Example, path) {
			t.Errorf("%s: no example calls the command:\n%s", path, cmd.Example)
		}
		checkExample(t, cmd)
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			lower := flag.Usage != "" && !unicode.IsUpper([]rune(flag.Usage)[0]) || names.MatchString(flag.Usage)
			if !flag.Hidden && !libraryFlags.MatchString(flag.Name) && (!lower || strings.HasSuffix(flag.Usage, ".")) {
				t.Errorf("%s --%s: the help must begin in lower case and end without a period: %q", path, flag.Name, flag.Usage)
			}
		})
	})
}

// checkExample checks that the flags in the examples of a command exist.
func checkExample(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	root := cmd.Root()
	for line := range strings.Lines(cmd.Example) {
		_, call, found := strings.Cut(line, "holdfast ")
		if !found || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		call, _, _ = strings.Cut(call, " | ")
		called, _, err := root.Find(strings.Fields(call))
		if err != nil || called == root {
			continue // a command of kubectl
		}
		for _, word := range strings.Fields(call) {
			name, isLong := strings.CutPrefix(word, "--")
			name, _, _ = strings.Cut(name, "=")
			name = strings.TrimRight(name, ")`\"'")
			if isLong && name != "" && called.Flags().Lookup(name) == nil {
				t.Errorf("%s: an example has --%s, which %s does not have: %s", cmd.CommandPath(), name, called.CommandPath(), line)
			}
		}
	}
}

// isUnderKubectl reports whether the root of kubectl runs a command of Holdfast.
func isUnderKubectl(cmd *cobra.Command) bool {
	return cmd.Parent() == cmd.Root() && slices.Contains([]string{"owners", "transfer", "history", "undo"}, cmd.Name())
}

// textFlag matches the line of a flag with a text as its value.
var textFlag = regexp.MustCompile(`^ +(-\w, )?--[\w-]+ string `)

// TestEmptyDefaults checks that the help of a flag shows an empty default.
func TestEmptyDefaults(t *testing.T) {
	walk(cli.Commands(), func(cmd *cobra.Command) {
		if isUnderKubectl(cmd) {
			return // kubectl's help shows defaults in its own way
		}
		out, err := run(t.Context(), append(pathOf(cmd), "--help")...)
		if err != nil {
			t.Errorf("%s: %v", cmd.CommandPath(), err)
		}
		for line := range strings.Lines(out) {
			if textFlag.MatchString(line) && !strings.Contains(line, "default") {
				t.Errorf("%s: no default in %q", cmd.CommandPath(), line)
			}
		}
	})
}

// TestTypos checks that every command suggests the flag or the subcommand that the user may have
// meant, and that it names its help.
func TestTypos(t *testing.T) {
	walk(cli.Commands(), func(cmd *cobra.Command) {
		check := func(want string, args ...string) {
			t.Helper()
			_, err := run(t.Context(), append(pathOf(cmd), args...)...)
			if err == nil {
				t.Errorf("%s %s: no error", cmd.CommandPath(), args)
				return
			}
			text := err.Error()
			if !strings.Contains(text, want) || !strings.HasSuffix(text, "See '"+cmd.CommandPath()+" --help' for usage") {
				t.Errorf("%s %s: %s, want %q and the help", cmd.CommandPath(), args, text, want)
			}
			if strings.Contains(text, "(s)") || !unicode.IsLower([]rune(text)[0]) {
				t.Errorf("%s %s: %s", cmd.CommandPath(), args, text)
			}
		}
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden && len(flag.Name) > 3 {
				check("--"+flag.Name, "--"+flag.Name[:len(flag.Name)-1]+"q")
			}
		})
		for _, below := range cmd.Commands() {
			if below.IsAvailableCommand() && len(below.Name()) > 3 {
				check("Did you mean ", below.Name()+"q")
			}
		}
	})
	_, err := run(t.Context(), "serv")
	if err == nil || !strings.Contains(err.Error(), "serve") {
		t.Errorf("serv: %v", err)
	}
}

// TestActivities checks that the texts about commands that still work name commands that exist.
func TestActivities(t *testing.T) {
	root := cli.Commands()
	root.SetOut(io.Discard)
	for path := range cli.Activities() {
		found, rest, err := root.Find(strings.Fields(path))
		if err != nil || len(rest) > 0 || found == root {
			t.Errorf("%s: there is no such command: %v", path, err)
		}
	}
	for path, want := range map[string]string{
		"doctor": "waits for the server", "kudo install": "waits for the server", "kudo plan wait": "",
		"schema lint": "", "serve": "", "schema generate": "reads the Go packages",
	} {
		found, _, err := root.Find(strings.Fields(path))
		if err != nil || cli.ActivityOf(found) != want {
			t.Errorf("%s: %q, want %q: %v", path, cli.ActivityOf(found), want, err)
		}
	}
}
