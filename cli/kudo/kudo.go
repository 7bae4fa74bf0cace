// Package kudo is the command `holdfast kudo`: operator packages, from their
// making to what runs of them on a server.
//
//	root.AddCommand(kudo.New(kudo.Program{Version: version, Logging: setLogging}))
//
// What has to do with packages and repositories needs no server. What writes to
// one judges the write first, with the functions that admission uses, so that a
// refused install or upgrade leaves nothing behind; admission has the last word.
package kudo

import (
	"context"

	"github.com/spf13/cobra"
)

const help = `Install, update, upgrade and roll back operator packages, and make them.

A package is a folder or a .tgz with operator.yaml, params.yaml and templates/,
as KUDO has them; a name is looked up in a repository. What a package marks as
immutable keeps its value, here and for every other client of the server.

Without --namespace and --kubeconfig, kubectl's are used.`

// Program is what the command knows of the program it is part of.
type Program struct {
	Version string
	// Logging sets up what is logged until a context ends, and how much.
	Logging func(ctx context.Context, verbosity int)
}

// New is the command.
func New(program Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kudo",
		Short: "Install, update and upgrade operator packages, and make them",
		Long:  help,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newInstallCommand(), newUpdateCommand(), newUpgradeCommand(), newRollbackCommand(), newUninstallCommand(),
		newGetCommand(), newPlanCommand(),
		newPackageCommand(), newRepoCommand(), newSearchCommand(),
		newInitCommand(program), newManagerCommand(program),
	)
	return cmd
}

// group is a command that only has others below it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}
