// Package guard implements the command `holdfast guard`: the protections of the server on a cluster
// that another API server serves.
//
//	root.AddCommand(guard.New(guard.Program{Version: version}))
package guard

import (
	"context"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
)

// Program is what the commands know about the program that they are part of.
type Program struct {
	// Version is the version of the program.
	Version string
	// Logging sets up the log on stderr with a verbosity.
	Logging func(ctx context.Context, verbosity int)
}

const help = `Protect immutable fields on a cluster that you already have.

A Kubernetes API server does not know the markers of immutable fields. The guard reads
them from the annotation holdfast.dev/immutability of CustomResourceDefinitions, and
from objects of the kind ImmutabilityPolicy, and answers the API server as an admission
webhook, with the engine and the messages of "holdfast serve". It also warns about writes
to fields that kubectl apply owns.`

// New returns the command guard with all its subcommands.
func New(program Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "guard",
		Short: "Protect immutable fields on a cluster that you already have",
		Long:  help,
		Args:  arguments.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newInitCommand(program), newServeCommand(program), newAuditCommand(program), newConvertCommand(), newUninstallCommand())
	return cmd
}
