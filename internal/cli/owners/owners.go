// Package owners implements the commands `holdfast owners` and `holdfast transfer`, which show the owners of the fields of
// objects and move fields between them. The factory selects the server, which may be any Kubernetes API server.
//
//	root.AddCommand(owners.NewCommand(factory), owners.NewTransferCommand(factory))
package owners

import (
	"fmt"

	"github.com/spf13/cobra"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/output"
	"holdfast.dev/holdfast/internal/cli/ownershipcheck"
)

// ownersOptions are the flags of owners.
type ownersOptions struct {
	output output.Format
	drift  bool
	stuck  stuckOptions
}

// NewCommand returns the command owners.
func NewCommand(factory cmdutil.Factory) *cobra.Command {
	options, o := ownersOptions{}, objects{factory: factory, types: ownershipcheck.NewTypes()}
	cmd := &cobra.Command{
		Use: "owners (TYPE NAME | TYPE/NAME | -f FILE)\n" +
			"  holdfast owners --stuck [TYPE...] [-A] [-l SELECTOR]",
		Short: "Show the owner and the last writer of each field of an object",
		Long: `Show the fields of an object, with the owner, the last writer and the time of each.

kubectl apply owns the fields in the last-applied configuration, and a manager of
server-side apply owns the fields that it applied: the next apply sets these fields
again. All other fields are free. The last writer is a command if the server has
recorded one, and otherwise the manager in the managed fields of the object.

With --drift, the command shows only the fields of kubectl apply whose value is not
the one that was applied last. The next apply changes these fields back. Fields of
server-side apply are never shown: a client that changes one becomes its owner.

With --stuck, the command reads many objects, of the given types or of all types, and
shows the fields that stay if the manager that applies an object leaves them out of its
file. Such fields come from a change of the way of applying, for example from kubectl
apply to kubectl apply --server-side. The reasons are:

  co-owned      the manager that applies owns the field, and so does an entry of an
                earlier way of applying
  left behind   only an entry of an earlier way of applying owns the field
  not recorded  a manager applies the object on the server, the last-applied
                configuration has the field, and no manager owns it
  not applied   no manager applies the object on the server, the entry of client-side
                apply has the field, and the last-applied configuration does not

A field that a controller or a command such as kubectl scale owns is not stuck, and
neither is a field with the default of the server. --gone names managers that no longer
apply. The command also shows tools that write under several managers, and objects
with almost as many managers as a server keeps. "holdfast transfer" moves the fields.

Fields in another API version than the object may have other names in it. The command
counts such entries as not examined.

"holdfast history" shows which client changed a field before, and "holdfast undo" takes
changes back.

Exit status: 0, or 1 with --stuck if something was found, and 2 if the command line is
wrong or the objects could not be read.`,
		Example: `  holdfast owners deployment/web
  holdfast owners deployment web -o yaml

  # Show what other clients changed since the file was applied
  holdfast owners -f web.yaml --drift

  # Show the fields that no apply removes any more, in all namespaces
  holdfast owners --stuck -A
  holdfast owners --stuck deployments,configmaps -n shop --gone old-ci`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if options.stuck.isSet(cmd) {
				return options.runStuck(cmd, o, args)
			}
			if err := options.output.Validate(); err != nil {
				return err
			}
			found, err := o.find(cmd, args)
			if err != nil {
				return err
			}
			reports := make([]ownersReport, len(found))
			for i, one := range found {
				reports[i] = options.report(one)
			}
			return options.print(cmd, reports)
		},
	}
	options.output.AddFlag(cmd)
	cmd.Flags().BoolVar(&options.drift, "drift", false, "show only fields whose value is not the one that kubectl apply set last")
	cmdutil.AddFilenameOptionFlags(cmd, &o.files, "that name the objects")
	options.stuck.addFlags(cmd)
	completeObjects(cmd, o)
	return cmd
}

// report returns the fields of an object that the command shows.
func (o ownersOptions) report(of owned) ownersReport {
	if o.drift {
		return of.driftReport()
	}
	return of.report()
}

func (o ownersOptions) print(cmd *cobra.Command, reports []ownersReport) error {
	out := cmd.OutOrStdout()
	if o.output != "" {
		return o.output.Print(out, reports)
	}
	colour := command.HasColours(cmd, out)
	for i, report := range reports {
		if i > 0 {
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
		if len(reports) > 1 || len(report.Fields) == 0 {
			if _, err := fmt.Fprintf(out, "%s:\n", report.Object); err != nil {
				return err
			}
		}
		if err := report.print(out, colour); err != nil {
			return err
		}
	}
	return nil
}
