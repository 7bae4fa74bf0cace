package series

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/apiserver/referrers"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/references"
)

const unusedHelp = `List the immutable ConfigMaps and Secrets that no object refers to.

The column SINCE has the time when the server noticed that. A server that was started
later has the time of its start.

Only "holdfast serve" has the index that answers this.`

// unusedOptions are the flags of unused.
type unusedOptions struct {
	connection
	output  string
	mutable bool
}

// unusedReport is what the command prints.
type unusedReport struct {
	Items []unusedItem `json:"items"`
	// More is the number of objects that the server left out, because there are too many.
	More int `json:"more,omitempty"`
	// Incomplete is why an object may be referenced nevertheless.
	Incomplete string `json:"incomplete,omitempty"`
}

type unusedItem struct {
	Kind string `json:"kind"`
	referrers.Unused
}

func newUnusedCommand() *cobra.Command {
	o := unusedOptions{}
	cmd := &cobra.Command{
		Use:   "unused",
		Short: "List the ConfigMaps and Secrets that no object refers to",
		Long:  unusedHelp,
		Example: `  holdfast series unused
  holdfast series unused -A -o json

  # Those that are not immutable, too
  holdfast series unused --all`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(o.output, outputJSON, outputYAML); err != nil {
				return command.Unable(err)
			}
			report, err := o.read(cmd)
			if err != nil {
				return err
			}
			if o.output != outputText {
				return printAs(cmd.OutOrStdout(), o.output, report)
			}
			if len(report.Items) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), o.none())
			}
			return report.print(cmd.OutOrStdout())
		},
	}
	o.AddNamespaceFlags(cmd.Flags())
	o.AddAllNamespacesFlag(cmd.Flags())
	cmd.Flags().BoolVar(&o.mutable, "all", false, "list the objects that are not immutable, too")
	cmd.Flags().StringVarP(&o.output, "output", "o", outputText, "json or yaml (default: a table)")
	return cmd
}

// read asks the server. If the user may list only one of both kinds, it reads that one.
func (o unusedOptions) read(cmd *cobra.Command) (*unusedReport, error) {
	s, err := o.connect(cmd.ErrOrStderr())
	if err != nil {
		return nil, command.Unable(err)
	}
	report, failed := &unusedReport{Items: []unusedItem{}}, []error(nil)
	for _, kind := range []references.Kind{references.ConfigMap, references.Secret} {
		path := "/api/v1/"
		if !o.AllNamespaces {
			path += "namespaces/" + s.namespace + "/"
		}
		path += resourceOf(kind).Resource
		if o.mutable {
			path += "?all=true"
		}
		list := referrers.UnusedList{}
		if err := s.ask(cmd.Context(), path, referrers.UnusedType, &list); err != nil {
			failed = append(failed, err)
			continue
		}
		for _, item := range list.Items {
			report.Items = append(report.Items, unusedItem{kind.String(), item})
		}
		report.More += list.More
		report.Incomplete = cmp.Or(report.Incomplete, list.Incomplete)
	}
	if len(failed) == 2 {
		return nil, failed[0]
	}
	if len(report.Items) == 0 && !o.AllNamespaces {
		if err := s.absent(cmd.Context(), nil); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(failed...); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "the list is not complete: %v\n", err)
	}
	return report, nil
}

// none is the answer if there is no such object.
func (o unusedOptions) none() string {
	if o.mutable {
		return "none: an object refers to each ConfigMap and Secret"
	}
	return "none: an object refers to each immutable ConfigMap and Secret (--all lists those that are not immutable, too)"
}

func (r *unusedReport) print(to io.Writer) error {
	if len(r.Items) > 0 {
		out := tabwriter.NewWriter(to, 0, 8, 3, ' ', 0)
		fmt.Fprintln(out, "KIND\tNAMESPACE\tNAME\tSINCE")
		for _, item := range r.Items {
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", item.Kind, item.Namespace, item.Name, item.Since.Format(time.RFC3339))
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if r.More > 0 {
		fmt.Fprintf(to, "%d more are not listed: name a namespace with -n instead of -A, or delete some of these\n", r.More)
	}
	if r.Incomplete != "" {
		fmt.Fprintf(to, "an object may refer to one of them: %s\n", r.Incomplete)
	}
	return nil
}
