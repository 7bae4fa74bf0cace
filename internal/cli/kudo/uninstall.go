package kudo

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/arguments"
)

// uninstall holds the flags of the command.
type uninstall struct {
	connection
	waiting
	named
	deleteClusterScoped bool
}

func newUninstallCommand() *cobra.Command {
	var u uninstall
	cmd := &cobra.Command{
		Use:   "uninstall INSTANCE",
		Short: "Delete an instance and what it installed",
		Long: `Delete an instance and what it installed, after its plan cleanup if the package has
one. The operator version stays, for other instances.

Cluster-scoped objects, such as definitions and cluster roles, stay too, and the
command names them. With --delete-cluster-scoped it waits until the instance is gone
and deletes them with your rights. It keeps objects that another instance uses, and
definitions that have objects.`,
		Example: "  holdfast kudo uninstall events --wait",
		Args:    arguments.AtMost("INSTANCE"),
		RunE:    u.withInstance(&u.named, u.run),
	}
	u.connection.addFlags(cmd.Flags())
	u.waiting.addFlags(cmd.Flags())
	u.named.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&u.deleteClusterScoped, "delete-cluster-scoped", false,
		"also delete the cluster-scoped objects that no other instance uses; waits")
	return cmd
}

// run deletes the Instance and names or deletes its cluster-scoped objects.
func (u *uninstall) run(cmd *cobra.Command, s *server, instance *api.Instance) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	left, err := u.leftovers(ctx, instance)
	if err != nil {
		return err
	}
	if err := s.remove(ctx, instances, instance); err != nil {
		return fmt.Errorf("delete instance %s: %w", instance.Name, err)
	}
	if !u.wait && !u.deleteClusterScoped {
		if _, err := fmt.Fprintf(out, "instance %s is being deleted\n", instance.Name); err != nil {
			return err
		}
		return left.print(out)
	}
	failed, err := u.awaitDeletion(ctx, s, instance)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "instance %s is gone\n", instance.Name); err != nil {
		return err
	}
	if err := u.finish(cmd, left, out); err != nil {
		return err
	}
	if failed != "" {
		return fmt.Errorf("the plan cleanup of instance %s failed: %s", instance.Name, failed)
	}
	return nil
}

// finish names or deletes the cluster-scoped objects of an Instance that is gone.
func (u *uninstall) finish(cmd *cobra.Command, left *leftovers, out io.Writer) error {
	if u.deleteClusterScoped {
		return left.delete(cmd.Context(), out)
	}
	if err := left.refresh(cmd.Context()); err != nil {
		return err
	}
	return left.print(out)
}
