package series

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/references"
)

const rollHelp = `Create the next member of a series, and let references follow.

The command makes an immutable ConfigMap, or with secret/SERIES a Secret, from the
given content. Its name is SERIES and a hash of the content: the name that "kubectl
create configmap SERIES --append-hash" gives it. Then every reference of the workloads
to another member of the series, or to an object with the name SERIES, gets the new
name. Workloads are Deployments, StatefulSets, DaemonSets, CronJobs, ReplicaSets and
ReplicationControllers, and with --in every other object whose kind refers to
ConfigMaps or Secrets. The CustomResourceDefinition of a custom resource declares its
references in the annotation holdfast.dev/references.

The references are set by server-side apply with the field manager
holdfast-series-SERIES. Write the new name into your manifests too: the next apply of a
manifest with the old name sets the reference back, or reports a conflict.

If the content is that of a member, no object is created.`

// rolling has the flags of roll.
type rolling struct {
	following
	sources
	all bool
}

func newRollCommand() *cobra.Command {
	r := &rolling{following: following{}}
	cmd := &cobra.Command{
		Use:   "roll SERIES (--from-file FILE | --from-literal KEY=VALUE | --from-env-file FILE) (--in TYPE/NAME | --all)",
		Short: "Create the next member of a series, and let references follow",
		Long:  rollHelp,
		Example: `  # Create settings-HASH from a file, and let a Deployment and a StatefulSet use it
  holdfast series roll settings --from-file app.yaml --in deploy/web,sts/db

  # Show the difference for all workloads of the namespace that refer to the series
  holdfast series roll settings --from-file app.yaml --all --dry-run

  # A series of Secrets
  holdfast series roll secret/password --from-literal password=example --all --wait`,
		Args: arguments.Exactly("SERIES"),
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd, args[0]) },
	}
	r.following.addFlags(cmd)
	r.sources.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&r.all, "all", false, "let the references of all workloads of the namespace follow")
	return cmd
}

func (r *rolling) run(cmd *cobra.Command, name string) error {
	id, err := parseIdentity(name)
	if err == nil {
		err = errors.Join(r.following.check(), r.sources.check(id))
	}
	switch {
	case err != nil:
		return command.Unable(err)
	case r.all && len(r.in) > 0:
		return command.Unable(errors.New("--in and --all cannot be combined: --all means all workloads of the namespace that refer to the series"))
	case !r.all && len(r.in) == 0:
		return command.Unable(errors.New("name the workloads with --in TYPE/NAME, or use --all"))
	}
	s, err := r.connect(cmd.ErrOrStderr())
	if err != nil {
		return command.Unable(err)
	}
	object, err := r.sources.object(id, s.namespace)
	if err != nil {
		return command.Unable(fmt.Errorf("the content of the series %s: %w", id, err))
	}
	ctx := cmd.Context()
	known, err := s.members(ctx, id)
	if err != nil {
		return err
	}
	existing, err := s.existing(ctx, id, object)
	if err != nil {
		return err
	}
	f := &follower{
		server: s, following: &r.following, members: known, to: object.GetName(), content: object, missing: existing == nil,
		out: cmd.OutOrStdout(), progress: cmd.ErrOrStderr(), cmd: cmd,
	}
	if existing != nil {
		f.content = existing
	}
	if err := r.warnOfType(ctx, f); err != nil {
		return err
	}
	workloads, err := s.workloads(ctx, known, r.in)
	if err != nil {
		return err
	}
	if err := f.run(ctx, workloads); err != nil {
		return err
	}
	if len(workloads) == 0 && r.output == outputText {
		fmt.Fprintf(cmd.OutOrStdout(), "no workload of namespace %s refers to the series %s yet: write the name %s into a manifest\n",
			s.namespace, id, f.to)
	}
	return nil
}

// warnOfType warns that the newest member has another type, which the user has not named for the new one. Pods need the type of a Secret with
// the credential of a registry.
func (r *rolling) warnOfType(ctx context.Context, f *follower) error {
	if f.members.kind != references.Secret || r.secretType != "" || len(f.members.sorted) == 0 {
		return nil
	}
	name := f.members.sorted[0].Name
	newest, err := f.objects(f.members.kind).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // it is deleted meanwhile
	}
	if err != nil {
		return command.Unable(fmt.Errorf("read %s: %w", memberName(f.members.kind, name), withRight(err)))
	}
	if of, _, _ := unstructured.NestedString(newest.Object, "type"); of != string(corev1.SecretTypeOpaque) {
		fmt.Fprintf(f.progress, "warning: %s has the type %s, and %s has %s: to keep the type, add --type %s\n",
			memberName(f.members.kind, name), of, memberName(f.members.kind, f.to), corev1.SecretTypeOpaque, of)
	}
	return nil
}
