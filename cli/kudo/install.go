package kudo

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/pack"
	"holdfast.dev/holdfast/parameters"
)

// installation is what is asked for.
type installation struct {
	connection
	source
	values
	waiting
	instance string
	accepted []string
}

func newInstallCommand() *cobra.Command {
	var i installation
	cmd := &cobra.Command{
		Use:   "install PACKAGE",
		Short: "Install a package",
		Long: `Install a package: a folder, a .tgz, a URL, or the name of one in a repository.

The values of immutable parameters are final, those that are defaults too. An
install that is refused leaves nothing behind.`,
		Example: `  holdfast kudo install ./kafka --instance events -p CLUSTER_NAME=events --wait
  holdfast kudo install kafka -P kafka.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return i.run(cmd, args[0]) },
	}
	i.connection.addFlags(cmd.Flags())
	i.source.addFlags(cmd.Flags())
	i.values.addFlags(cmd.Flags())
	i.waiting.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&i.instance, "instance", "", "name of the instance (default: the name of the package)")
	cmd.Flags().StringArrayVar(&i.accepted, "accept-immutable", nil,
		"an immutable parameter whose default is taken; at installation all are, so this only says so")
	return cmd
}

func (i *installation) run(cmd *cobra.Command, location string) error {
	ctx := cmd.Context()
	p, err := i.verified(ctx, location)
	if err != nil {
		return err
	}
	given, err := i.read(cmd.InOrStdin())
	if err != nil {
		return err
	}
	decision := parameters.Install(p.Definitions(), parameters.Request{Wanted: given.over(nil), Consented: i.accepted})
	if err := refused("install", decision); err != nil {
		return err
	}
	s, err := i.connect()
	if err != nil {
		return err
	}
	instance := i.newInstance(p, s.namespace, decision.Values)
	if err := s.install(ctx, p, instance); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "instance %s of %s installed\n", instance.Name, p.VersionName()); err != nil {
		return err
	}
	return i.follow(ctx, s, instance, cmd.OutOrStdout())
}

func (i *installation) newInstance(p *pack.Package, namespace string, values map[string]string) *api.Instance {
	name := i.instance
	if name == "" {
		name = p.Operator.Name
	}
	return &api.Instance{
		TypeMeta: metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Instance"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, Labels: map[string]string{api.OperatorLabel: p.Operator.Name},
		},
		Spec: api.InstanceSpec{OperatorVersion: corev1.ObjectReference{Name: p.VersionName()}, Parameters: values},
	}
}

// install creates everything, or nothing.
func (s *server) install(ctx context.Context, p *pack.Package, instance *api.Instance) error {
	err := s.get(ctx, instances, instance.Name, &api.Instance{})
	switch {
	case err == nil:
		return fmt.Errorf("instance %s is in namespace %s already: update or upgrade it, or name another with --instance", instance.Name, s.namespace)
	case !apierrors.IsNotFound(err):
		return err
	}
	offered, err := s.put(ctx, p)
	if err != nil {
		return err
	}
	if err := s.create(ctx, instances, instance); err != nil {
		return errors.Join(fmt.Errorf("create instance %s: %w", instance.Name, err), offered.withdraw(ctx))
	}
	return nil
}

// refused is an error with every refusal of a decision on a line of its own.
func refused(what string, decision parameters.Decision) error {
	if err := decision.Err(); err != nil {
		return fmt.Errorf("%s refused:\n%w", what, err)
	}
	return nil
}
