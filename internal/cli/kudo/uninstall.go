package kudo

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
)

// uninstall holds the flags of the command.
type uninstall struct {
	connection
	waiting
	named
	deleteClusterScoped bool
	dryRun              command.DryRun
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
definitions that have objects.

If the instance is gone already, the command names or deletes the cluster-scoped
objects that it left.`,
		Example: "  holdfast kudo uninstall events --wait",
		Args:    arguments.AtMost("INSTANCE"),
		RunE:    u.withName(&u.named, u.run),
	}
	u.AddNamespaceFlags(cmd.Flags())
	u.waiting.addFlags(cmd.Flags())
	u.named.addFlags(cmd.Flags())
	u.dryRun.AddFlag(cmd.Flags())
	cmd.Flags().BoolVar(&u.deleteClusterScoped, "delete-cluster-scoped", false,
		"also delete the cluster-scoped objects that no other instance uses; waits")
	return cmd
}

// run deletes the Instance and names or deletes its cluster-scoped objects. Of an Instance that
// is gone already, it looks for the cluster-scoped objects.
func (u *uninstall) run(cmd *cobra.Command, s *server, name string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	instance, missing := s.instance(ctx, name)
	var none noInstanceError
	if errors.As(missing, &none) {
		left, err := u.leftoversOfEarlier(ctx, api.OwnerName(s.namespace, name))
		if err != nil {
			return err
		}
		if len(left.objects) == 0 {
			return missing
		}
		if u.dryRun.IsSet() {
			return left.print(out)
		}
		return u.finish(ctx, left, out)
	}
	if missing != nil {
		return missing
	}
	left, err := u.leftovers(ctx, instance)
	if err != nil {
		return err
	}
	s.dryRun = u.dryRun
	if !u.Wait && !u.deleteClusterScoped || u.dryRun.IsSet() {
		if err := s.remove(ctx, instances, instance); err != nil {
			return fmt.Errorf("delete instance %s: %w", name, err)
		}
		if _, err := fmt.Fprintf(out, "instance %s is being deleted%s\n", name, u.dryRun.Suffix()); err != nil {
			return err
		}
		return left.print(out)
	}
	failed, err := u.waiting.delete(ctx, s, instance)
	switch {
	case err != nil && u.deleteClusterScoped && len(left.objects) > 0:
		return fmt.Errorf("%w\nits cluster-scoped objects stay: run the command again to delete them", err)
	case err != nil:
		return err
	}
	if err := left.refresh(ctx); err != nil {
		return err
	}
	if err := u.finish(ctx, left, out); err != nil {
		return err
	}
	if failed != "" {
		return command.Refused(fmt.Errorf("the plan cleanup of instance %s failed: %s", name, failed))
	}
	return nil
}

// finish names or deletes the cluster-scoped objects of an Instance that is gone.
func (u *uninstall) finish(ctx context.Context, left *leftovers, out io.Writer) error {
	if _, err := fmt.Fprintf(out, "instance %s is gone\n", left.instance); err != nil {
		return err
	}
	if u.deleteClusterScoped {
		return left.delete(ctx, out)
	}
	return left.print(out)
}
