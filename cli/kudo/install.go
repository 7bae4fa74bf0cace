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

// install judges the installation and creates the objects of the packages and the Instance.
func (r *request) install(cmd *cobra.Command, location string) error {
	ctx := cmd.Context()
	p, values, err := r.packageAndValues(cmd, location)
	if err != nil {
		return err
	}
	decision := parameters.Install(p.Definitions(), parameters.Request{Wanted: values.applyTo(nil), Consented: r.accepted})
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

// install creates the objects of the packages and the Instance. If one cannot be created, it
// deletes those that it has created.
func (s *server) install(ctx context.Context, packages []*pack.Package, instance *api.Instance) error {
	err := s.get(ctx, instances, instance.Name, &api.Instance{})
	switch {
	case err == nil:
		return fmt.Errorf("instance %s is in namespace %s already: update or upgrade it, or name another with --instance",
			instance.Name, s.namespace)
	case !apierrors.IsNotFound(err):
		return err
	}
	uploaded, err := s.upload(ctx, packages)
	if err != nil {
		return err
	}
	if err := s.create(ctx, instances, instance); err != nil {
		err = fmt.Errorf("create instance %s: %w", instance.Name, err)
		return uploaded.cleanUp(ctx, instance.Name, instance.Spec.OperatorVersion.Name, err)
	}
	return nil
}

// refused returns an error with all refusals of a decision, one per line; nil if there are
// none.
func refused(name string, decision parameters.Decision) error {
	if err := decision.Err(); err != nil {
		return fmt.Errorf("%s refused:\n%w", name, err)
	}
	return nil
}
