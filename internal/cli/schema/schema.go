// Package schema implements the command `holdfast schema`, which judges
// CustomResourceDefinitions and custom resources in files. It needs no server, except for the
// objects of one; the rules are those of the server. Its command migrate writes the objects of a
// server again.
//
//	root.AddCommand(schema.New(version))
//
// A command exits with 0 if it found nothing, with 1 if it did, and with 2 if it could not
// judge: a wrong command line, a file that cannot be read. Its errors have the exit
// codes of package command.
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
		Args:  arguments.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newGenerateCommand(), newLintCommand(version), newSkeletonCommand(), newPruneCommand(version), newUpdateCommand(version),
		newDiffCommand(version), newCheckCommand(version), newCompileCommand(version), newMigrateCommand(),
	)
	return cmd
}
