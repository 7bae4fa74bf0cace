// Package schema implements the command `holdfast schema`, which judges
// CustomResourceDefinitions and custom resources in files. It needs no server, except for the
// objects of one; the rules are those of the server. Its command migrate writes the objects of a
// server again.
//
//	root.AddCommand(schema.New(version))
//
// A command exits with 0 if it found nothing, with 1 if it did, and with 2 if it could not
// judge: a wrong command line, a file that cannot be read. Its errors have the method
// ExitCode.
package schema

import (
	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
)

const help = `Judge CustomResourceDefinitions and custom resources before a server does.

These commands read files and need no server; only check, and diff with --objects
cluster, read the objects of one. Input is a file, a directory with
everything below it, a pattern such as 'config/**/*.yaml', or - for stdin. A file
may have several YAML documents, and lists; objects of other kinds are skipped. The
command migrate works on the stored objects of a server instead.

The exit code is 0 if nothing was found, 1 if something was, and 2 if a file could
not be read or the command line is wrong.`

// New returns the command schema with all its subcommands. version is the version of the
// program.
func New(version string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Judge definitions and custom resources in files, without a server",
		Long:  help,
		Args:  checked(arguments.None),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newGenerateCommand(), newLintCommand(version), newSkeletonCommand(), newPruneCommand(version), newUpdateCommand(version),
		newDiffCommand(version), newCheckCommand(version), newCompileCommand(version), newMigrateCommand(),
	)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return unable(err) })
	return cmd
}

// The exit codes besides 0.
const (
	// exitFound is the code if the command found something.
	exitFound = 1
	// exitUnable is the code if the command could not read a file or its command line.
	exitUnable = 2
	// exitInterrupted is the code if a signal ended the command while it read a file.
	exitInterrupted = 130
)

// exitError is an error with an exit code.
type exitError struct {
	error
	code int
}

// Unwrap returns the error without the code.
func (e exitError) Unwrap() error { return e.error }

// ExitCode returns the exit code of the process.
func (e exitError) ExitCode() int { return e.code }

// unable returns the error of a command that could not judge.
func unable(err error) error { return exitError{err, exitUnable} }

// checked returns a validator of the arguments with the exit code for a wrong command line.
func checked(validate cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := validate(cmd, args); err != nil {
			return unable(err)
		}
		return nil
	}
}
