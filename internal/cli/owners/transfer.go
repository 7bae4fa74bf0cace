package owners

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/ownershipcheck"
	"holdfast.dev/holdfast/ownership"
)

// The values of --to.
const (
	toApply      = "apply"
	toImperative = "imperative"
)

// transferManager is the field manager of the command. It owns the fields that are taken from
// server-side apply.
const transferManager = "holdfast-transfer"

// transferOptions are the flags of transfer.
type transferOptions struct {
	fields  []string
	to      string
	manager string
	dryRun  command.DryRun
	bulk    bulkOptions
}

// NewTransferCommand returns the command transfer.
func NewTransferCommand(factory cmdutil.Factory) *cobra.Command {
	options, o := transferOptions{}, objects{factory: factory, types: ownershipcheck.NewTypes()}
	cmd := &cobra.Command{
		Use: "transfer (TYPE NAME | TYPE/NAME) --field FIELD --to (apply|imperative)\n" +
			"  holdfast transfer [TYPE...] (--from MANAGERS --to MANAGER | --preset NAME) --record FILE\n" +
			"  holdfast transfer --undo FILE",
		Short: "Move the ownership of fields, of one object or of many",
		Long: `Move the ownership of a field between apply and imperative commands, or the fields of
managers to another manager in many objects. The command never changes the value of a
field.

One object: with --to imperative, kubectl apply no longer changes the field, if you
also take it out of the file. With --to apply, the next apply sets the field to the
value in the file, or clears it if the file does not have it. For an object that is
managed with kubectl apply, the command rewrites the last-applied configuration. For an
object that is managed with server-side apply, it rewrites the managed fields. If there
is nothing to do, the command says so and succeeds.

Many objects: with --from, the fields of these managers move to the manager of --to,
in all objects of the types, or of all types that the server has. An apply of that
manager then removes the fields that its file does not have: --dry-run lists them.
Fields of subresources, such as the status, and of kube-controller-manager move only
if --fields names them: an apply that owned the replicas of an autoscaler would remove
them. The last-applied configuration stays, and the next apply of the new manager
removes it.

Each change of an object is recorded in the file of --record before it is sent. If the
command is stopped or killed, run it again with the same file. --undo moves the fields
of a record back. The file has names of fields and no values.

Exit status: 0 if everything moved, also if there was nothing to do, 1 if the command or
the server refused a change, 2 if the command line is wrong or the server or a file could
not be read.

The presets:
` + presetHelp(),
		Example: `  # Let an autoscaler set the replicas: take them out of the file, then run
  holdfast transfer deployment/web --field .spec.replicas --to imperative

  # Let kubectl apply set an image that was set by hand: write it into the file, then run
  holdfast transfer deployment web --field '.spec.template.spec.containers[name="web"].image' --to apply

  # Let "kubectl apply --server-side" remove fields that kubectl apply set, in all namespaces
  holdfast transfer --preset csa-to-ssa -A --dry-run
  holdfast transfer --preset csa-to-ssa -A --record moved.jsonl

  # Move the fields of two managers in the Deployments of a namespace, and back
  holdfast transfer deployments -n shop --from ci,old-ci --to deployer --record moved.jsonl
  holdfast transfer --undo moved.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !options.bulk.isBulk() {
				return command.Unable(errors.New("name an object: TYPE NAME or TYPE/NAME"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer func() { err = command.Unable(err) }()
			switch {
			case options.bulk.undo != "":
				if err := options.validateUndo(args); err != nil {
					return err
				}
				return options.runUndo(cmd, o)
			case options.bulk.isBulk():
				return options.runBulk(cmd, o, args)
			}
			if err := options.validate(); err != nil {
				return err
			}
			found, err := o.find(cmd, args)
			if err != nil {
				return err
			}
			if len(found) != 1 {
				return fmt.Errorf("name one object, not %d", len(found))
			}
			return options.run(cmd.OutOrStdout(), found[0])
		},
	}
	cmd.Flags().StringArrayVar(&options.fields, "field", nil, "path of the field, as owners prints it (more than once for several)")
	cmd.Flags().StringVar(&options.to, "to", "", "the new owner of the field: apply or imperative; with --from, the manager that gets the fields")
	cmd.Flags().StringVar(&options.manager, "manager", "",
		"with --to apply, the manager of server-side apply that gets the field")
	options.dryRun.AddFlag(cmd.Flags())
	options.bulk.addFlags(cmd)
	completeObjects(cmd, o)
	return cmd
}

func (t transferOptions) validate() error {
	switch {
	case t.to != toApply && t.to != toImperative:
		return fmt.Errorf("--to %q: must be %s or %s", t.to, toApply, toImperative)
	case len(t.fields) == 0:
		return errors.New("name a field with --field, such as .spec.replicas: \"holdfast owners\" lists the fields of an object")
	case t.bulk.record != "" || len(t.bulk.fields) > 0 || t.bulk.labels != "" || t.bulk.allNamespaces:
		return errors.New("--record, --fields, --selector and --all-namespaces: only with --from or --preset")
	case t.manager != "" && t.to != toApply:
		return errors.New("--manager: only with --to apply")
	}
	return nil
}

func (t transferOptions) validateUndo(args []string) error {
	b := t.bulk
	switch {
	case len(args) > 0 || t.to != "" || t.manager != "" || len(t.fields) > 0 || len(b.from) > 0 || len(b.fields) > 0 || b.preset != "" ||
		b.record != "" || b.labels != "" || b.allNamespaces:
		return errors.New("--undo: the record says what moves back: use it only with --dry-run and --rate")
	case b.rate <= 0:
		return fmt.Errorf("--rate %v: must be more than 0", b.rate)
	}
	return nil
}

// run moves the fields, and prints a line for each.
func (t transferOptions) run(out io.Writer, o owned) error {
	change := newTransfer(o)
	var lines []string
	for _, field := range t.fields {
		path, err := ownership.ParsePath(field)
		if err != nil {
			return err
		}
		move := change.toImperative
		if t.to == toApply {
			move = func(path ownership.Path) (string, error) { return change.toApply(path, t.manager) }
		}
		nothing, err := move(path)
		switch {
		case err != nil:
			return command.Refused(fmt.Errorf("%s: %w", o.info.ObjectName(), err))
		case nothing != "":
			lines = append(lines, fmt.Sprintf("%s field %s: %s, nothing to do", o.info.ObjectName(), field, nothing))
		default:
			lines = append(lines, fmt.Sprintf("%s field %s transferred to %s%s", o.info.ObjectName(), field, t.to, t.dryRun.Suffix()))
		}
	}
	if err := t.send(change); err != nil && isAnswer(err) {
		return command.Refused(err)
	} else if err != nil {
		return err
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// send sends the change to the server, if there is one.
func (t transferOptions) send(change *transfer) error {
	operations := change.patch()
	if len(operations) == 0 || !t.dryRun.Sends() {
		return nil
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return err
	}
	info := change.info
	helper := resource.NewHelper(info.Client, info.Mapping).WithFieldManager(transferManager).DryRun(t.dryRun == command.DryRunServer)
	_, err = helper.Patch(info.Namespace, info.Name, types.JSONPatchType, patch, &metav1.PatchOptions{})
	return err
}
