// Package kudo implements the command `holdfast kudo`, which creates operator packages and
// repositories, and installs, upgrades and inspects operators on a server.
//
//	root.AddCommand(kudo.New(kudo.Program{Version: version, Logging: setLogging}))
//
// The commands for packages and repositories need no server. The commands that write to a
// server first judge the write themselves, with the function that admission uses, so that a
// refused install or upgrade writes nothing. Admission judges the write again.
package kudo

import (
	"context"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
)

const help = `Install, update, upgrade and roll back operator packages, and make them.

A package is a folder or a .tgz with operator.yaml, params.yaml and templates/,
in the format of KUDO, or a name in a repository. A parameter that a package
marks as immutable keeps its value, whichever client writes.

Without --namespace and --kubeconfig, the commands use those of kubectl.`

// Program describes the program that the command is part of.
type Program struct {
	// Version is the version of the program.
	Version string
	// Logging sets up logging with a verbosity, until a context ends.
	Logging func(ctx context.Context, verbosity int)
}

// New returns the command kudo with all its subcommands.
func New(program Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kudo",
		Short: "Install, update and upgrade operator packages, and make them",
		Long:  help,
		Args:  arguments.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newInstallCommand(), newUpdateCommand(), newUpgradeCommand(), newRollbackCommand(), newUninstallCommand(),
		newGetCommand(), newPlanCommand(), newDiagnosticsCommand(program),
		newPackageCommand(), newRepoCommand(), newSearchCommand(),
		newInitCommand(program), newManagerCommand(program), newVersionCommand(program),
	)
	addCompletions(cmd)
	return cmd
}

// group returns a command that only has subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}
