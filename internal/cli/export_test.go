package cli

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// StartProgress prints a line about a command every two seconds, until the returned function is
// called.
func StartProgress(out io.Writer, line func() string) func() { return startProgress(out, line) }

// Activities returns what commands do while a user waits for them.
func Activities() map[string]string { return activities }

// ActivityOf returns what a command does while a user waits for it.
func ActivityOf(cmd *cobra.Command) string { return activityOf(cmd) }

// ServeFlags returns the names of the flags of serve.
func ServeFlags() []string {
	var names []string
	newServeCommand().Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}

// Arguments returns the command line of a program.
func Arguments(args []string) []string { return commandLine(args) }

// NotFinished returns the error for a number of replacements that earlier runs have begun.
func NotFinished(replacements int) error { return notFinished(replacements) }
