package kudo

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/operator/pack"
	"holdfast.dev/holdfast/parameters"
)

// instanceInstallation holds the flags of the command.
type instanceInstallation struct {
	request
	skipInstance, createNamespace, inCluster bool
	dryRun                                   dryRun
}

func newInstallCommand() *cobra.Command {
	var n instanceInstallation
	cmd := &cobra.Command{
		Use:   "install PACKAGE",
		Short: "Install a package",
		Long: `Install a package: a folder, a .tgz, a URL, or the name of one in a repository.
The command also puts the packages that it depends on on the server. The plan of
the package then creates their instances.

An immutable parameter keeps the value that it gets now: the one that you give, or
its default. If the server refuses the install, the command leaves nothing behind.

--dry-run changes nothing. The command prints the parameters, the plan that would run
and the objects that it would create, without the values of Secrets.`,
		Example: `  holdfast kudo install ./kafka --instance events -p CLUSTER_NAME=events --wait
  holdfast kudo install kafka -P kafka.yaml`,
		Args: arguments.Exactly("PACKAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := n.dryRun.check(); err != nil {
				return err
			}
			if n.inCluster {
				return n.installStored(cmd, args[0])
			}
			return n.install(cmd, args[0])
		},
	}
	n.addFlags(cmd, "an immutable parameter for which you accept the default; install accepts all defaults, so the flag changes nothing")
	n.dryRun.addFlags(cmd)
	cmd.Flags().BoolVar(&n.skipInstance, "skip-instance", false, "put the package on the server, and install no instance")
	cmd.Flags().BoolVar(&n.createNamespace, "create-namespace", false, "create the namespace, which must not exist yet")
	cmd.Flags().BoolVar(&n.inCluster, "in-cluster", false, "install a package that is on the server already, by its name")
	return cmd
}

// install judges the installation and creates the objects of the packages and the Instance.
func (n *instanceInstallation) install(cmd *cobra.Command, location string) error {
	ctx := cmd.Context()
	p, values, err := n.packageAndValues(cmd, location)
	if err != nil {
		return err
	}
	decision := parameters.Install(p.Definitions(), parameters.Request{Wanted: values.applyTo(nil), Consented: n.accepted})
	if err := refused("install", decision); err != nil && !n.skipInstance {
		return err
	}
	s, err := n.connect()
	if err != nil {
		return err
	}
	packages, err := n.resolve(ctx, s, p)
	if err != nil {
		return err
	}
	_, version := p.Resources(s.namespace)
	instance := n.instanceOf(version, decision.Values)
	if !n.skipInstance {
		if err := (&tree{s, packages}).refusedInstall(ctx, decision, instance); err != nil {
			return err
		}
	}
	if n.dryRun.IsSet() && !n.skipInstance {
		return n.preview(cmd, s, &newInstance{instance, version, packages, decision})
	}
	if n.createNamespace && !n.dryRun.IsSet() {
		if err := n.namespaceOf(ctx, s, p, decision.Values); err != nil {
			return err
		}
	}
	if n.skipInstance {
		s.dryRun = n.dryRun.DryRun
		if _, err := s.upload(ctx, packages); err != nil {
			return err
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "operator version %s is in namespace %s%s\n", p.VersionName(), s.namespace, s.dryRun.Suffix())
		return err
	}
	return n.create(cmd, s, packages, instance)
}

// installStored installs an OperatorVersion that is on the server.
func (n *instanceInstallation) installStored(cmd *cobra.Command, name string) error {
	values, err := n.read(cmd.InOrStdin())
	if err != nil {
		return err
	}
	s, err := n.connect()
	if err != nil {
		return err
	}
	var list api.OperatorVersionList
	if err := s.list(cmd.Context(), operatorVersions, &list); err != nil {
		return err
	}
	version := api.Newest(list.Items, api.TaskSpec{Package: name, OperatorVersion: n.operatorVersion, AppVersion: n.appVersion})
	if version == nil {
		var known []string
		for i := range list.Items {
			known = append(known, list.Items[i].Spec.Operator.Name)
		}
		return fmt.Errorf("there is no such version of operator %s in namespace %s%s", name, s.namespace,
			parameters.Suggestion(name, slices.DeleteFunc(known, func(other string) bool { return other == name })))
	}
	decision := parameters.Install(version.Definitions(), parameters.Request{Wanted: values.applyTo(nil), Consented: n.accepted})
	if err := refused("install", decision); err != nil {
		return err
	}
	if n.instance == "" {
		n.instance = api.InstanceName(name)
	}
	instance := n.instanceOf(version, decision.Values)
	if err := (&tree{server: s}).refusedInstall(cmd.Context(), decision, instance); err != nil {
		return err
	}
	if n.dryRun.IsSet() {
		return n.preview(cmd, s, &newInstance{instance, version, nil, decision})
	}
	return n.create(cmd, s, nil, instance)
}

// preview prints what the installation would do. It returns an error if the Instance exists.
func (n *instanceInstallation) preview(cmd *cobra.Command, s *server, planned *newInstance) error {
	if err := s.checkAbsent(cmd.Context(), planned.instance.Name); err != nil {
		return err
	}
	if n.createNamespace {
		n.dryRun.DryRun = command.DryRunClient // the server refuses every object of a namespace that does not exist
	}
	return n.dryRun.previewInstall(cmd.Context(), s, planned, cmd.OutOrStdout())
}

// instanceOf returns the Instance to create.
func (n *instanceInstallation) instanceOf(version *api.OperatorVersion, values map[string]string) *api.Instance {
	return &api.Instance{
		TypeMeta: metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Instance"},
		ObjectMeta: metav1.ObjectMeta{
			Name: n.instance, Namespace: version.Namespace, Labels: map[string]string{api.OperatorLabel: version.Spec.Operator.Name},
		},
		Spec: api.InstanceSpec{OperatorVersion: corev1.ObjectReference{Name: version.Name}, Parameters: values},
	}
}

// create creates the objects of the packages and the Instance, and reports it.
func (n *instanceInstallation) create(cmd *cobra.Command, s *server, packages []*pack.Package, instance *api.Instance) error {
	if err := s.install(cmd.Context(), packages, instance); err != nil {
		return err
	}
	return n.report(cmd, s, instance, fmt.Sprintf("instance %s of %s installed", instance.Name, instance.Spec.OperatorVersion.Name))
}

// install creates the objects of the packages and the Instance. If one cannot be created, it
// deletes those that it has created.
func (s *server) install(ctx context.Context, packages []*pack.Package, instance *api.Instance) error {
	if err := s.checkAbsent(ctx, instance.Name); err != nil {
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

// checkAbsent returns an error if there is an Instance with a name.
func (s *server) checkAbsent(ctx context.Context, name string) error {
	err := s.get(ctx, instances, name, &api.Instance{})
	switch {
	case err == nil:
		return command.Refused(fmt.Errorf("instance %s is in namespace %s already: update or upgrade it, or name another with --instance",
			name, s.namespace))
	case !apierrors.IsNotFound(err):
		return err
	}
	return nil
}

// refused returns an error with all refusals of a decision, one per line; nil if there are
// none.
func refused(name string, decision parameters.Decision) error {
	if err := decision.Err(); err != nil {
		return command.Refused(fmt.Errorf("%s refused:\n%w", name, err))
	}
	return nil
}
