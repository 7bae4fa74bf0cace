package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/output"
	"holdfast.dev/holdfast/internal/cli/ownershipcheck"
	"holdfast.dev/holdfast/internal/fieldhistory"
)

// manager is the field manager of the writes of undo.
const manager = "holdfast-undo"

// asDiff is the value of -o for a unified diff.
const asDiff = "diff"

// undoOptions are the flags of undo.
type undoOptions struct {
	filter
	to     int64
	hasTo  bool
	yes    bool
	dryRun command.DryRun
	output output.Format
	uid    string
}

// NewUndoCommand returns the command undo.
func NewUndoCommand(factory cmdutil.Factory) *cobra.Command {
	o := undoOptions{}
	cmd := &cobra.Command{
		Use:   "undo (TYPE NAME | TYPE/NAME) (--to NUMBER | --since DURATION | --field FIELD)",
		Short: "Take back changes of an object, from its history",
		Long: `Take back recorded changes of an object. "holdfast history" shows them.

  --to NUMBER       the object as it was after this entry of its history
  --since DURATION  the object as it was before this last time, such as 2h
  --field FIELD     the last change of this field; with --to or --since, only this field

Without --yes, the command changes nothing. It shows what would change, the owner of
each field, what the next apply does to it, and the answer of the server to a dry run.
With --yes, it writes the object, through all checks of the server, as the field manager
holdfast-undo. If the object has changed since it was read, the server refuses that.

If kubectl apply owns a field, its next run sets the field again as its file says. A
field that a manager of server-side apply owns is taken from it, so that its next apply
has a conflict. Write the change into the file too, or see "holdfast transfer".

Values that history does not keep, of Secrets and of more than 8 KB, cannot be restored.
The command then refuses and names the fields. Undo is a change like any other: the
history has it, and it can be undone.

A deleted object whose history the server keeps can be created again with --to NUMBER.
It is a new object with a new UID.

Exit status: 0 if the change was made, or would be accepted, or if there is nothing to
undo; 1 if the command or the server refused; 2 if the command line is wrong, the object
has no history, or the server could not be read.`,
		Example: `  # What would the object be after entry 3 again, and who owns the fields?
  holdfast undo deployment/web --to 3
  holdfast undo deployment/web --to 3 --yes

  # Take back the last change of a field
  holdfast undo deploy web --field .spec.replicas --yes

  # Take back all changes of the last two hours
  holdfast undo configmap/settings --since 2h -o diff`,
		Args: needsObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.hasTo = cmd.Flags().Changed("to")
			return command.Unable(o.run(cmd, factory, args))
		},
	}
	flags := cmd.Flags()
	flags.Int64Var(&o.to, "to", 0, "go back to the state after the entry with this number")
	flags.StringArrayVar(&o.fields, "field", nil, "take back the last change of this field; with --to or --since, only this field (more than once for several)")
	flags.DurationVar(&o.since, "since", 0, "take back the changes of this last time, such as 2h")
	flags.BoolVarP(&o.yes, "yes", "y", false, "make the change; without it, the command only shows it")
	o.dryRun.AddFlag(flags)
	flags.StringVarP((*string)(&o.output), "output", "o", "", "json or yaml, for programs, or diff for a unified diff; empty prints text")
	flags.StringVar(&o.uid, "uid", "", "take back the deletion of this object, if another one has its name")
	complete(cmd, factory, &o.uid, output.JSON, output.YAML, asDiff)
	return cmd
}

func (o *undoOptions) validate(hasSince bool) error {
	switch {
	case o.hasTo && hasSince:
		return errors.New("--to and --since: name one state")
	case !o.hasTo && !hasSince && len(o.fields) == 0:
		return errors.New("name what to take back: --to NUMBER, --since DURATION or --field FIELD; \"holdfast history\" shows the changes")
	case o.hasTo && o.to < 0:
		return fmt.Errorf("--to %d: must be the number of an entry, or 0 for the state before entry 1", o.to)
	}
	if err := o.output.Validate(); err != nil && o.output != asDiff {
		return fmt.Errorf("output %q: must be json, yaml or diff", string(o.output))
	}
	return o.parse(hasSince)
}

func (o *undoOptions) run(cmd *cobra.Command, factory cmdutil.Factory, args []string) error {
	if err := o.validate(cmd.Flags().Changed("since")); err != nil {
		return err
	}
	of, err := find(factory, args, o.uid)
	if err != nil {
		return err
	}
	live, list, err := of.read(cmd)
	if err != nil {
		return err
	}
	u := undo{object: of, list: list, live: live, reread: func(version string) (*unstructured.Unstructured, error) { return of.get(cmd, version) }}
	if err := u.setTarget(o.filter, o.state(), time.Now()); err != nil {
		return command.Refused(fmt.Errorf("%s: %w", of, err))
	}
	u.setType(cmd, ownershipcheck.NewTypes())
	return u.do(cmd, o)
}

// state returns the number of --to, nil if the flag is not set.
func (o *undoOptions) state() *int64 {
	if !o.hasTo {
		return nil
	}
	return &o.to
}

// do tries the change, shows it, and makes it.
func (u *undo) do(cmd *cobra.Command, o *undoOptions) error {
	r := report{Object: u.String(), Goal: u.goal, Changes: []changedPart{}, Notes: u.consequences(), DryRun: o.dryRun}
	if u.live != nil {
		r.ResourceVersion = u.live.GetResourceVersion()
		if len(fieldhistory.Diff(u.content(), u.target, u.options())) == 0 {
			return r.print(cmd, o.output, u)
		}
	}
	request, err := u.request()
	if err != nil {
		return err
	}
	result, tried := &unstructured.Unstructured{Object: u.body()}, error(nil)
	if o.dryRun.Sends() {
		var answer *unstructured.Unstructured
		if answer, r.Warnings, tried = request.send(cmd, true); tried == nil {
			result = answer
		} else if !isAnswer(tried) {
			return tried
		}
	}
	u.describe(&r, result)
	if tried != nil {
		r.Refused = tried.Error()
	}
	if o.yes && !o.dryRun.IsSet() && tried == nil {
		if _, _, err := request.send(cmd, false); err != nil {
			return u.failed(err)
		}
		r.Written = true
	}
	if err := r.print(cmd, o.output, u); err != nil {
		return err
	}
	if tried != nil {
		return u.failed(tried)
	}
	return nil
}

// failed returns the error for a write that did not succeed.
func (u *undo) failed(err error) error {
	switch {
	case u.live == nil && apierrors.IsAlreadyExists(err):
		return command.Refused(fmt.Errorf("%s: another object has this name", u))
	case isMoved(err):
		return command.Refused(fmt.Errorf("%s has changed since it was read, nothing is undone: run the command again", u))
	case isAnswer(err):
		return command.Refused(fmt.Errorf("%s: the server refuses the change, nothing is undone: %w", u, err))
	}
	return err
}

// encode encodes a value that was decoded from JSON, or is a text: it has an encoding.
func encode(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

// join joins names for a sentence.
func join(names []string) string { return strings.Join(names, ", ") }
