package kudo

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/pack"
	"holdfast.dev/holdfast/parameters"
)

func newInstallCommand() *cobra.Command {
	var r request
	cmd := &cobra.Command{
		Use:   "install PACKAGE",
		Short: "Install a package",
		Long: `Install a package: a folder, a .tgz, a URL, or the name of one in a repository.
Packages that it depends on are put on the server with it; their instances come
with its plan.

The values of immutable parameters are final, those that are defaults too. An
install that is refused leaves nothing behind.`,
		Example: `  holdfast kudo install ./kafka --instance events -p CLUSTER_NAME=events --wait
  holdfast kudo install kafka -P kafka.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return r.install(cmd, args[0]) },
	}
	r.addFlags(cmd, "an immutable parameter whose default is taken; at installation all are, so this only says so")
	return cmd
}

func (r *request) install(cmd *cobra.Command, location string) error {
	ctx := cmd.Context()
	p, given, err := r.given(cmd, location)
	if err != nil {
		return err
	}
	decision := parameters.Install(p.Definitions(), parameters.Request{Wanted: given.over(nil), Consented: r.accepted})
	if err := refused("install", decision); err != nil {
		return err
	}
	s, err := r.connect()
	if err != nil {
		return err
	}
	packages, err := r.resolve(ctx, s, p)
	if err != nil {
		return err
	}
	instance := &api.Instance{
		TypeMeta: metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Instance"},
		ObjectMeta: metav1.ObjectMeta{
			Name: r.instance, Namespace: s.namespace, Labels: map[string]string{api.OperatorLabel: p.Operator.Name},
		},
		Spec: api.InstanceSpec{OperatorVersion: corev1.ObjectReference{Name: p.VersionName()}, Parameters: decision.Values},
	}
	if err := s.install(ctx, packages, instance); err != nil {
		return err
	}
	return r.report(cmd, s, instance, fmt.Sprintf("instance %s of %s installed", instance.Name, p.VersionName()))
}

// install creates everything, or nothing.
func (s *server) install(ctx context.Context, packages []*pack.Package, instance *api.Instance) error {
	err := s.get(ctx, instances, instance.Name, &api.Instance{})
	switch {
	case err == nil:
		return fmt.Errorf("instance %s is in namespace %s already: update or upgrade it, or name another with --instance", instance.Name, s.namespace)
	case !apierrors.IsNotFound(err):
		return err
	}
	offered, err := s.put(ctx, packages)
	if err != nil {
		return err
	}
	if err := s.create(ctx, instances, instance); err != nil {
		err = fmt.Errorf("create instance %s: %w", instance.Name, err)
		return offered.settle(ctx, instance.Name, instance.Spec.OperatorVersion.Name, err)
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
