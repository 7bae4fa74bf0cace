package history

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/difference"
	"holdfast.dev/holdfast/internal/cli/output"
	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// report is what an undo changes, for -o json and -o yaml.
type report struct {
	Object string `json:"object"`
	// Goal says which state the object gets.
	Goal string `json:"goal"`
	// ResourceVersion is that of the object from which the change was computed, empty if it is deleted.
	ResourceVersion string        `json:"resourceVersion,omitempty"`
	Changes         []changedPart `json:"changes"`
	// Next are sentences about what the next apply does.
	Next []string `json:"next,omitempty"`
	// Notes are consequences that the change has besides.
	Notes    []string `json:"notes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Refused is the answer of the server if it refuses the change.
	Refused string         `json:"refused,omitempty"`
	DryRun  command.DryRun `json:"dryRun"`
	// Written says that the server has stored the change.
	Written bool `json:"written"`

	before, after *unstructured.Unstructured
}

// changedPart is a change of one field, with its owner before the change.
type changedPart struct {
	fieldhistory.Change
	Owner string     `json:"owner,omitempty"`
	SetBy string     `json:"setBy,omitempty"`
	At    *time.Time `json:"at,omitempty"`
}

// describe adds the changes with the owners of their fields, and what the next apply does. The result is the object after the change, as far
// as that is known.
func (u *undo) describe(r *report, result *unstructured.Unstructured) {
	r.before, r.after = u.live, result
	after := fieldhistory.Content(result.Object)
	changes := fieldhistory.Diff(u.content(), after, u.options())
	owners := u.owners()
	for _, change := range changes {
		r.Changes = append(r.Changes, u.redacted(owners.of(change, u.list.Items)))
	}
	if u.live == nil {
		return
	}
	r.Next = u.nextApplies(result, changes)
	for _, change := range fieldhistory.Diff(u.target, after, u.options()) {
		r.Notes = append(r.Notes, fmt.Sprintf("the server stores %s otherwise than the history has it", change.Path))
	}
}

// redacted returns a change without values of a Secret.
func (u *undo) redacted(c changedPart) changedPart {
	if u.kind == nil || !u.kind.Redacted {
		return c
	}
	// Diff writes paths that can be read back.
	path, _ := value.ParsePath(c.Path)
	steps := path.Steps()
	if len(steps) > 0 {
		switch name := steps[0].Name; {
		case name == "metadata" && len(steps) > 1 && steps[1].Name != "annotations", name != "metadata" && name != "data" && name != "stringData":
			return c
		}
	}
	hidden := encode(ownership.Redacted)
	if c.From != nil {
		c.From = hidden
	}
	if c.To != nil {
		c.To = hidden
	}
	return c
}

// print writes the report.
func (r report) print(cmd *cobra.Command, format output.Format, u *undo) error {
	switch format {
	case output.JSON, output.YAML:
		return format.Print(cmd.OutOrStdout(), r)
	case asDiff:
		if err := r.printDiff(cmd); err != nil {
			return err
		}
	default:
		if err := r.printTable(cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	for _, line := range slices.Concat(r.Next, r.Notes, r.Warnings) {
		fmt.Fprintln(cmd.ErrOrStderr(), line)
	}
	if r.Refused != "" {
		return nil
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), r.end(u))
	return err
}

// end returns the last line: what was done.
func (r report) end(u *undo) string {
	last := u.list.Items[len(u.list.Items)-1].Number
	switch {
	case len(r.Changes) == 0:
		return fmt.Sprintf("%s: nothing to undo: it already is %s", r.Object, r.Goal)
	case r.Written && u.live == nil:
		return r.Object + ": created again, as a new object"
	case r.Written:
		return fmt.Sprintf("%s: undone; \"holdfast undo %s --to %d\" takes that back", r.Object, u.object.target(), last)
	case !r.DryRun.Sends():
		return r.Object + ": nothing is changed" + r.DryRun.Suffix() + "; the server was not asked"
	case r.DryRun.IsSet():
		return r.Object + ": the server accepts the change" + r.DryRun.Suffix()
	}
	return r.Object + ": the server accepts the change. Nothing is changed yet: --yes makes it"
}

// printTable writes a line for each field.
func (r report) printTable(out io.Writer) error {
	if len(r.Changes) == 0 {
		return nil
	}
	from := ""
	if r.ResourceVersion != "" {
		from = ", from resourceVersion " + r.ResourceVersion
	}
	fmt.Fprintf(out, "%s: %s%s\n", r.Object, r.Goal, from)
	w := printers.GetNewTabWriter(out)
	fmt.Fprintln(w, "FIELD\tNOW\tUNDONE\tOWNER\tSET BY")
	for _, change := range r.Changes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n",
			change.Path, shown(change.From), shown(change.To), cell(change.Owner), cell(change.SetBy))
	}
	return w.Flush()
}

// shown returns the text of a value. The values of Secrets are replaced already.
func shown(text json.RawMessage) string {
	if string(text) == string(encode(ownership.Redacted)) {
		return ownership.Redacted
	}
	return textOf(text, nil, maxShown)
}

// printDiff writes a unified diff of the object before and after the change.
func (r report) printDiff(cmd *cobra.Command) error {
	if len(r.Changes) == 0 {
		return nil
	}
	text, err := difference.Unified(r.Object, contentOf(r.before), contentOf(r.after))
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	_, err = io.WriteString(out, command.Diff(cmd, out, text))
	return err
}

// contentOf returns a copy of an object with the part that history has, nil for nil.
func contentOf(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return nil
	}
	content := fieldhistory.Content(obj.Object)
	content["apiVersion"], content["kind"] = obj.GetAPIVersion(), obj.GetKind()
	return (&unstructured.Unstructured{Object: content}).DeepCopy()
}
