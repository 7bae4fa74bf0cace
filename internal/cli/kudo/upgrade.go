package kudo

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/operator/pack"
)

// upgrade holds the flags of the command.
type upgrade struct {
	request
	dryRun dryRun
}

func newUpgradeCommand() *cobra.Command {
	var u upgrade
	cmd := &cobra.Command{
		Use:   "upgrade PACKAGE",
		Short: "Take an instance to a newer version of its package",
		Long: `Take an instance to a newer version of its package.

A parameter that becomes immutable, or is new and immutable, needs a value in the
upgrade. Give one with -p or -P, or use --accept-immutable to take its current value
or its default. The command names all missing parameters at once. A refused upgrade
leaves nothing behind. The command also puts the packages that the new version
depends on on the server.

--dry-run changes nothing. The server tries the writes, and with --dry-run=client
none is sent. The command prints the old and the new value of each parameter, the
plan that would run, and the differences of the rendered objects without the values
of Secrets. The exit code is 1 if the server would refuse the upgrade. -o json prints the same for programs.`,
		Example: `  holdfast kudo upgrade ./kafka --instance events --dry-run
  holdfast kudo upgrade kafka --instance events -p LISTENER=tls --accept-immutable DISK_CLASS --wait`,
		Args: arguments.Exactly("PACKAGE"),
		RunE: func(cmd *cobra.Command, args []string) error { return u.run(cmd, args[0]) },
	}
	u.addFlags(cmd, "a parameter that becomes immutable, for which you accept its current value or its default; may be given several times")
	u.dryRun.addFlags(cmd)
	return cmd
}

// run judges the upgrade and makes it, or prints what it would do.
func (u *upgrade) run(cmd *cobra.Command, location string) error {
	ctx := cmd.Context()
	if err := u.dryRun.check(); err != nil {
		return err
	}
	p, values, err := u.packageAndValues(cmd, location)
	if err != nil {
		return err
	}
	s, err := u.connect()
	if err != nil {
		return err
	}
	if err := u.findInstance(cmd, s, p.Operator.Name); err != nil {
		return err
	}
	packages, err := u.resolve(ctx, s, p)
	if err != nil {
		return err
	}
	if err := s.checkContent(ctx, packages); err != nil {
		return err
	}
	_, target := p.Resources(s.namespace)
	wanted := u.change(target, values)
	wanted.packages = packages
	if u.dryRun.IsSet() {
		return u.dryRun.preview(ctx, s, wanted, printed{u.instance, cmd.OutOrStdout()})
	}
	written, err := s.upgrade(ctx, u.instance, packages, wanted)
	if err != nil {
		return err
	}
	return u.report(cmd, s, written, fmt.Sprintf("instance %s upgraded to %s", u.instance, target.Name))
}

// findInstance chooses the Instance if the command line names none. Earlier releases named it
// like the operator, so that name is used if it is the only one of the two.
func (u *upgrade) findInstance(cmd *cobra.Command, s *server, operator string) error {
	if cmd.Flags().Changed("instance") {
		return nil
	}
	err := s.get(cmd.Context(), instances, u.instance, &api.Instance{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	err = s.get(cmd.Context(), instances, operator, &api.Instance{})
	if apierrors.IsNotFound(err) {
		return nil // the upgrade reports that there is no Instance with the usual name
	}
	u.instance = operator
	return err
}

// change returns the upgrade as a change of the Instance. It carries the consent to all
// parameters that were given or accepted.
func (u *upgrade) change(target *api.OperatorVersion, values parameterValues) change {
	return change{name: "upgrade", sendDecided: true, target: target, edit: func(instance *api.Instance) error {
		instance.SetVersionKey(target.Name)
		instance.Spec.Parameters = values.applyTo(instance.Spec.Parameters)
		names := slices.Concat(values.names(), u.accepted)
		slices.Sort(names)
		if names = slices.Compact(names); len(names) == 0 {
			return nil
		}
		return api.SetConsent(instance, api.Consent{OperatorVersion: target.Name, Names: names})
	}}
}

// upgrade creates the objects of the packages and updates the Instance. If the update fails,
// it deletes the objects that it has created.
func (s *server) upgrade(ctx context.Context, name string, packages []*pack.Package, wanted change) (*api.Instance, error) {
	uploaded := &upload{server: s}
	judged, err := s.write(ctx, name, wanted, func() error {
		var err error
		created, err := s.upload(ctx, packages)
		if err == nil {
			uploaded = created
		}
		return err
	})
	if err != nil {
		return nil, uploaded.cleanUp(ctx, name, wanted.target.Name, err)
	}
	return judged.after, nil
}
