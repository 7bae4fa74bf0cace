package kudo

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/operator/api"
)

func newUninstallCommand() *cobra.Command {
	var conn connection
	var wait waiting
	cmd := &cobra.Command{
		Use:   "uninstall INSTANCE",
		Short: "Delete an instance and what it installed",
		Long: `Delete an instance and what it installed, after its plan cleanup if the package has
one. The operator version stays, for other instances.`,
		Example: "  holdfast kudo uninstall events --wait",
		Args:    cobra.ExactArgs(1),
		RunE: conn.withInstance(func(cmd *cobra.Command, s *server, instance *api.Instance) error {
			if err := s.remove(cmd.Context(), instances, instance); err != nil {
				return fmt.Errorf("delete instance %s: %w", instance.Name, err)
			}
			state := "is being deleted"
			if wait.wait {
				if err := wait.awaitDeletion(cmd.Context(), s, instance); err != nil {
					return err
				}
				state = "is gone"
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "instance %s %s\n", instance.Name, state)
			return err
		}),
	}
	conn.addFlags(cmd.Flags())
	wait.addFlags(cmd.Flags())
	return cmd
}
