package kudo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/pack"
)

// upgrade is what is asked for.
type upgrade struct {
	connection
	source
	values
	waiting
	instance string
	accepted []string
	dryRun   bool
}

func newUpgradeCommand() *cobra.Command {
	var u upgrade
	cmd := &cobra.Command{
		Use:   "upgrade PACKAGE",
		Short: "Take an instance to a newer version of its package",
		Long: `Take an instance to a newer version of its package.

A parameter that becomes immutable, or is new and immutable, needs a value that is
given now: with -p or -P, or with --accept-immutable for the value it has, or the
default. All that is missing is named at once, and a refused upgrade leaves
nothing behind.

--dry-run changes nothing. It prints what becomes of each parameter, which plan
runs and how the rendered resources differ (values of Secrets are not shown); the
exit code is 1 if the upgrade would be refused.`,
		Example: `  holdfast kudo upgrade ./kafka --instance events --dry-run
  holdfast kudo upgrade kafka --instance events -p LISTENER=tls --accept-immutable DISK_CLASS --wait`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return u.run(cmd, args[0]) },
	}
	u.connection.addFlags(cmd.Flags())
	u.source.addFlags(cmd.Flags())
	u.values.addFlags(cmd.Flags())
	u.waiting.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&u.instance, "instance", "", "name of the instance (default: the name of the package)")
	cmd.Flags().StringArrayVar(&u.accepted, "accept-immutable", nil,
		"a parameter that becomes immutable with the value it has, or its default; may be given several times")
	cmd.Flags().BoolVar(&u.dryRun, "dry-run", false, "say what would happen, and change nothing")
	return cmd
}

func (u *upgrade) run(cmd *cobra.Command, location string) error {
	ctx := cmd.Context()
	p, err := u.verified(ctx, location)
	if err != nil {
		return err
	}
	given, err := u.read(cmd.InOrStdin())
	if err != nil {
		return err
	}
	s, err := u.connect()
	if err != nil {
		return err
	}
	name := u.instance
	if name == "" {
		name = p.Operator.Name
	}
	_, target := p.Resources(s.namespace)
	if err := s.same(ctx, target); err != nil {
		return err
	}
	wanted := u.change(target, given)
	if u.dryRun {
		return s.preview(ctx, name, wanted, cmd.OutOrStdout())
	}
	written, err := s.upgrade(ctx, name, p, wanted)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "instance %s upgraded to %s\n", name, target.Name); err != nil {
		return err
	}
	return u.follow(ctx, s, written, cmd.OutOrStdout())
}

// change is the upgrade as a write, with the consent that it carries.
func (u *upgrade) change(target *api.OperatorVersion, given given) change {
	return change{what: "upgrade", stores: true, target: target, edit: func(instance *api.Instance) error {
		instance.Spec.OperatorVersion.Name = target.Name
		instance.Spec.Parameters = given.over(instance.Spec.Parameters)
		names := slices.Concat(given.names(), u.accepted)
		slices.Sort(names)
		if names = slices.Compact(names); len(names) == 0 {
			return nil
		}
		return api.SetGiven(instance, api.Given{OperatorVersion: target.Name, Names: names})
	}}
}

// upgrade writes the package and the Instance, or nothing.
func (s *server) upgrade(ctx context.Context, name string, p *pack.Package, wanted change) (*api.Instance, error) {
	offered := &offer{server: s}
	judged, err := s.write(ctx, name, wanted, func() error {
		var err error
		put, err := s.put(ctx, p)
		if err == nil {
			offered = put
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, offered.withdraw(ctx))
	}
	return judged.after, nil
}
