package kudo

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
)

func newVersionCommand(program Program) *cobra.Command {
	var format output
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of the program",
		Example: "  holdfast kudo version -o json",
		Args:    arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "" {
				return format.print(cmd.OutOrStdout(), map[string]any{"client": map[string]string{"gitVersion": program.Version}})
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "holdfast %s, for packages of KUDO 0.19\n", program.Version)
			return err
		},
	}
	format.addFlags(cmd.Flags())
	return cmd
}
