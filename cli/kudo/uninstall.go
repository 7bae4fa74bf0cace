package kudo

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newUninstallCommand() *cobra.Command {
	var where connection
	var wait waiting
	cmd := &cobra.Command{
		Use:   "uninstall INSTANCE",
		Short: "Delete an instance and what it installed",
		Long: `Delete an instance and what it installed, after its plan cleanup if the package has
one. The operator version stays, for other instances.`,
		Example: "  holdfast kudo uninstall events --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := where.connect()
			if err != nil {
				return err
			}
			instance, err := s.instance(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := s.remove(cmd.Context(), instances, instance); err != nil {
				return fmt.Errorf("delete instance %s: %w", args[0], err)
			}
			if wait.wait {
				if err := wait.gone(cmd.Context(), s, instance); err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "instance %s is gone\n", args[0])
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "instance %s is being deleted\n", args[0])
			return err
		},
	}
	where.addFlags(cmd.Flags())
	wait.addFlags(cmd.Flags())
	return cmd
}
