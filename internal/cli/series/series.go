// Package series implements the command `holdfast series`: it replaces immutable ConfigMaps and Secrets by new versions, and lets the
// references of workloads follow. That works with every Kubernetes API server. It also asks the server which objects refer to which, which only
// ours can answer.
//
//	root.AddCommand(series.NewCommand())
//
// A command exits with 0 if it did what it was asked, with 1 if it refused or the server did, and with 2 if the command line is wrong or the
// command could not read what it needs. Its errors have the exit codes of package command.
//
// The words: a member is a ConfigMap or Secret of a series. A workload is an object that refers to members. A reference follows when it is
// changed from one member to another.
package series

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
)

const help = `Replace immutable ConfigMaps and Secrets by new versions.

A series is the ConfigMaps, or the Secrets, of a namespace with the same value of the
label holdfast.dev/series. Each is immutable and has one version of a configuration.
Its name ends in a hash of its content. SERIES is the name of a series of ConfigMaps,
and secret/SERIES is one of Secrets.

These commands work with every Kubernetes API server, except used and unused: only
"holdfast serve" knows which objects refer to which. The exit code is 1 if a command
refuses, and 2 if the command line is wrong or the server could not be read.`

// NewCommand returns the command series with all its subcommands.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "series",
		Short: "Replace immutable ConfigMaps and Secrets by new versions",
		Long:  help,
		Args:  arguments.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRollCommand())
	cmd.AddCommand(newRollbackCommand())
	cmd.AddCommand(newHistoryCommand())
	cmd.AddCommand(newAdoptCommand())
	cmd.AddCommand(newUsedCommand())
	cmd.AddCommand(newUnusedCommand())
	return cmd
}

// interrupted returns the error of a command that a signal ended.
func interrupted(format string, args ...any) error {
	return command.Interrupted(fmt.Errorf(format, args...))
}

// refused returns the error of a command that changes nothing, or nothing more.
func refused(format string, args ...any) error { return command.Refused(fmt.Errorf(format, args...)) }
