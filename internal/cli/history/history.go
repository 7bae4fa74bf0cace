// Package history implements the commands `holdfast history` and `holdfast undo`, which show the changes of an object and take them
// back. The server must be `holdfast serve`: others record no changes.
//
//	root.AddCommand(history.NewCommand(factory), history.NewUndoCommand(factory))
//
// The commands exit with 0 if they did what they were asked, with 1 if a command or the server refused, and with 2 if the command line is
// wrong or the command could not read what it needs. Their errors have the method ExitCode.
package history

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/output"
	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/ownership"
)

// wide is the value of -o for a table with all columns.
const wide = "wide"

// options are the flags of history.
type options struct {
	filter
	output output.Format
	uid    string
}

// filter says which changes of a history the command shows.
type filter struct {
	fields []string
	since  time.Duration
	// paths are the parsed fields.
	paths []ownership.Path
}

// NewCommand returns the command history.
func NewCommand(factory cmdutil.Factory) *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "history (TYPE NAME | TYPE/NAME)",
		Short: "Show which client changed which field of an object, and when",
		Long: `Show the recorded changes of an object, the oldest first: the number of the entry, its
age, the user with the command or the field manager, the field, and its value before
and after the change.

The server records the changes of an object with the label holdfast.dev/history=fields,
and of all objects in a namespace with this label. It does not record the status. It
keeps a bounded number of entries; the numbers never change. Values of Secrets, and
values of more than 8 KB, are not kept.

If you may get the object, you may read its history. "holdfast undo" takes changes back.

Exit status: 0, or 2 if the command line is wrong, the object has no history, or the
server could not be read.`,
		Example: `  # Record the changes of a Deployment from now on
  kubectl label deployment/web holdfast.dev/history=fields

  holdfast history deployment/web
  holdfast history deployment web --field .spec.replicas
  holdfast history deploy/web --since 2h -o wide`,
		Args: needsObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			return command.Unable(o.run(cmd, factory, args))
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.fields, "field", nil, "show only changes of this field, or inside of it (more than once for several)")
	flags.DurationVar(&o.since, "since", 0, "show only changes of this last time, such as 2h")
	flags.StringVarP((*string)(&o.output), "output", "o", "", "json or yaml, for programs, or wide; empty prints text")
	flags.StringVar(&o.uid, "uid", "", "show the history of a deleted object of this name")
	complete(cmd, factory, &o.uid, output.JSON, output.YAML, wide)
	return cmd
}

// needsObject refuses a command line without an object.
func needsObject(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return command.Unable(errors.New("name an object: TYPE NAME or TYPE/NAME"))
	}
	return nil
}

func (o options) run(cmd *cobra.Command, factory cmdutil.Factory, args []string) error {
	if err := o.output.Validate(); err != nil && o.output != wide {
		return fmt.Errorf("output %q: must be json, yaml or wide", string(o.output))
	}
	if err := o.parse(cmd.Flags().Changed("since")); err != nil {
		return err
	}
	of, err := find(factory, args, o.uid)
	if err != nil {
		return err
	}
	list, err := of.history(cmd)
	if err != nil {
		return err
	}
	shown := list
	shown.Items = o.matching(list.Items, time.Now())
	if o.output != "" && o.output != wide {
		return o.output.Print(cmd.OutOrStdout(), shown)
	}
	for _, note := range of.notes(list) {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", note)
	}
	if len(shown.Items) == 0 {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: no recorded change%s\n", of, o.suffix(list))
		return err
	}
	return print(cmd.OutOrStdout(), shown.Items, table{now: time.Now(), wide: o.output == wide})
}

// parse checks the flags.
func (f *filter) parse(hasSince bool) error {
	for _, text := range f.fields {
		path, err := ownership.ParsePath(text)
		if err != nil {
			return fmt.Errorf("--field: %w", err)
		}
		f.paths = append(f.paths, path)
	}
	if hasSince && f.since <= 0 {
		return fmt.Errorf("--since %s: must be more than 0", f.since)
	}
	return nil
}

// matching returns the entries with the changes that the command shows. An entry that has changes and none of them matches is left out.
func (f *filter) matching(entries []fieldhistory.Entry, now time.Time) []fieldhistory.Entry {
	matching := []fieldhistory.Entry{}
	for _, entry := range entries {
		if f.since > 0 && entry.Time.Before(now.Add(-f.since)) {
			continue
		}
		if len(f.paths) > 0 && !entry.Truncated && entry.Operation != fieldhistory.Create && entry.Operation != fieldhistory.Replace {
			if entry.Changes = f.touching(entry.Changes); len(entry.Changes) == 0 {
				continue
			}
		}
		matching = append(matching, entry)
	}
	return matching
}

// touching returns the changes of the fields of the filter.
func (f *filter) touching(changes []fieldhistory.Change) []fieldhistory.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(change fieldhistory.Change) bool {
		return !slices.ContainsFunc(f.paths, func(path ownership.Path) bool { return change.Touches(path.Path) })
	})
}

// suffix says why there may be no change to show.
func (f *filter) suffix(list fieldhistory.List) string {
	if len(list.Items) == 0 {
		return " yet"
	}
	return fmt.Sprintf(" matches the flags; the history has the entries %d to %d", list.Items[0].Number, list.Items[len(list.Items)-1].Number)
}

// notes returns what the user should know about a history besides its entries.
func (o object) notes(list fieldhistory.List) []string {
	var notes []string
	if list.Deleted != nil {
		notes = append(notes, fmt.Sprintf("%s was deleted at %s", o, list.Deleted.UTC().Format(time.RFC3339)))
	} else if !list.Recording {
		notes = append(notes, fmt.Sprintf("the server records no further change of %s: the label %s is gone", o, optIn))
	}
	for _, uid := range list.OtherUIDs {
		notes = append(notes, fmt.Sprintf("a deleted object of this name has a history too: --uid %s", uid))
	}
	return notes
}
