package arguments_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
)

func TestChecks(t *testing.T) {
	group := &cobra.Command{Use: "group"}
	group.AddCommand(&cobra.Command{Use: "one", Run: func(*cobra.Command, []string) {}})
	leaf := &cobra.Command{Use: "leaf"}
	for name, test := range map[string]struct {
		cmd   *cobra.Command
		check cobra.PositionalArgs
		args  string
		want  string // empty if the arguments are accepted
	}{
		"none":                  {leaf, arguments.None, "", ""},
		"one where none is":     {leaf, arguments.None, "now", `unexpected argument "now": the command takes none`},
		"no such subcommand":    {group, arguments.None, "tow", `unknown command "tow" for "group"`},
		"exactly one":           {leaf, arguments.Exactly("FILE"), "a", ""},
		"one is missing":        {leaf, arguments.Exactly("FILE"), "", "the argument FILE is missing"},
		"two are missing":       {leaf, arguments.Exactly("NAME", "URL"), "", "the arguments NAME and URL are missing"},
		"the second is missing": {leaf, arguments.Exactly("NAME", "URL"), "a", "the argument URL is missing"},
		"one too many":          {leaf, arguments.Exactly("FILE"), "a b", `unexpected argument "b": the command takes only FILE`},
		"none of at most one":   {leaf, arguments.AtMost("WORD"), "", ""},
		"more than at most one": {leaf, arguments.AtMost("WORD"), "a b", `unexpected argument "b": the command takes only WORD`},
		"none of at least one":  {leaf, arguments.AtLeastOne("FILE"), "", "the argument FILE is missing"},
		"two of at least one":   {leaf, arguments.AtLeastOne("FILE"), "a b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := test.check(test.cmd, strings.Fields(test.args)); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestFormat(t *testing.T) {
	for value, want := range map[string]string{
		"yaml": "", "json": "",
		"":         "-o is empty: it must be yaml or json",
		"-":        "-o -: -o takes a format: write -o yaml to print to stdout",
		"out/crds": "-o out/crds: -o takes a format, yaml or json: if out/crds is a path, write --output-dir out/crds",
	} {
		got := ""
		if err := arguments.Format(value, "--output-dir"); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
}
