package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/cli/ownershipcheck"
	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// undo is a change that takes an object back.
type undo struct {
	object
	list fieldhistory.List
	// live is the object, nil if it is deleted.
	live *unstructured.Unstructured
	// target is the content that the object gets, and goal says which state that is.
	target map[string]any
	goal   string
	// version is that of the API of the target and of live.
	version string
	// reread reads the object in another version of its API. The result is nil if the object does not exist.
	reread func(version string) (*unstructured.Unstructured, error)
	// kind tells how the objects of the kind are divided into fields, nil if that is not known.
	kind *ownership.Type
}

// content returns the content of the object, nil if it is deleted.
func (u *undo) content() map[string]any {
	if u.live == nil {
		return nil
	}
	return fieldhistory.Content(u.live.Object)
}

// setTarget computes the content that the object gets. A nil number stands for the state that the filter names.
func (u *undo) setTarget(f filter, number *int64, now time.Time) (err error) {
	u.version = versionOf(u.list)
	switch {
	case u.hasGap():
		return fmt.Errorf("the object has changed while it was not recorded, after entry %d: earlier states are not known", u.list.Items[len(u.list.Items)-1].Number)
	case u.live == nil && (number == nil || len(f.paths) > 0):
		return errors.New("it is deleted: only --to NUMBER can create it again, with all fields")
	case number != nil:
		u.goal = fmt.Sprintf("the state after entry %d", *number)
	case f.since > 0:
		at, err := u.before(now.Add(-f.since))
		if err != nil {
			return err
		}
		number, u.goal = &at, fmt.Sprintf("the state before the last %s, after entry %d", f.since, at)
	}
	if number == nil {
		err = u.takeBack(f.paths)
	} else {
		err = u.goTo(*number, f.paths)
	}
	if err != nil {
		return err
	}
	if u.target == nil && u.list.Items[0].Operation == fieldhistory.Replace {
		return fmt.Errorf("%s is that of another object of this name, which was replaced", u.goal)
	}
	if u.target == nil {
		return fmt.Errorf("%s is before the object was created; \"kubectl delete %s\" deletes it", u.goal, u.object.target())
	}
	if missing := fieldhistory.NotKept(u.target); len(missing) > 0 {
		return fmt.Errorf("history does not keep the values of %s: nothing is undone; --field takes back other fields", join(missing))
	}
	if u.live != nil && !value.Strict.Equal(u.server("deletionTimestamp", u.content()), u.server("deletionTimestamp", u.target)) {
		return errors.New(".metadata.deletionTimestamp: the object is being deleted, and no write takes that back; --field takes back other fields")
	}
	return nil
}

// hasGap reports whether the object has changed since the newest entry. If the values of a Secret are sealed, each write counts that came
// later: Secrets have no status.
func (u *undo) hasGap() bool {
	switch {
	case u.live == nil:
		return false
	case u.list.Fingerprint == "":
		return u.list.ResourceVersion != u.live.GetResourceVersion()
	}
	return strconv.FormatUint(fieldhistory.Fingerprint(u.content()), 16) != u.list.Fingerprint
}

// server returns a field of the metadata that the server sets.
func (u *undo) server(name string, content map[string]any) any {
	return fieldhistory.At(content, value.NewPath(value.Step{Name: "metadata"}, value.Step{Name: name}))
}

// before returns the number of the last entry before a time.
func (u *undo) before(limit time.Time) (int64, error) {
	first := u.list.Items[0]
	at := first.Number - 1
	for _, entry := range u.list.Items {
		if entry.Time.Before(limit) {
			at = entry.Number
		}
	}
	if at == first.Number-1 && first.Operation != fieldhistory.Create {
		return 0, fmt.Errorf("the history does not reach back that far: it begins with entry %d at %s; --to %d is the state before that entry",
			first.Number, first.Time.UTC().Format(time.RFC3339), at)
	}
	return at, nil
}

// goTo sets the target to the state after an entry, or only the fields to their values then.
func (u *undo) goTo(number int64, fields []ownership.Path) error {
	state, err := fieldhistory.State(u.content(), u.list.Items, number)
	if err != nil {
		return explained(err)
	}
	if err := u.switchTo(fieldhistory.VersionOf(u.list.Items, number)); err != nil {
		return err
	}
	if len(fields) == 0 || state == nil {
		u.target = state
		return nil
	}
	u.target = u.content()
	for _, field := range fields {
		if u.target, err = fieldhistory.With(u.target, state, field.Path); err != nil {
			return fmt.Errorf("--field %s: %w: name that value instead", field, err)
		}
	}
	return nil
}

// switchTo goes on in the version of the API of an earlier state, so that the server converts the object.
func (u *undo) switchTo(version string) error {
	newest := u.version
	if version == "" || version == newest {
		return nil
	}
	u.version = version
	if u.live == nil {
		return nil
	}
	u.goal += ", in " + version
	live, err := u.reread(version)
	switch {
	case err != nil:
		return fmt.Errorf("the state is in the version %s, and the object is stored in %s: serve %s again, or go back to a later state: %w", version, newest, version, err)
	case live == nil || live.GetResourceVersion() != u.live.GetResourceVersion():
		return errors.New("the object has changed since it was read: run the command again")
	}
	u.live = live
	return nil
}

// takeBack sets the target to the content without the last change of each field.
func (u *undo) takeBack(fields []ownership.Path) error {
	u.target = u.content()
	var version *fieldhistory.VersionError
	for i, field := range fields {
		entry, err := fieldhistory.LastChange(u.content(), u.list.Items, field.Path)
		switch {
		case errors.As(err, &version):
			return fmt.Errorf("--field %s: %w: there the path may be another field; --to %d --field FIELD, with the field of %s, goes back to the last state in it",
				field, err, version.Number, version.Earlier)
		case err != nil:
			return explained(err)
		case entry.Number == 0:
			return fmt.Errorf("--field %s: the history has no change of it", field)
		case entry.Operation == fieldhistory.Create || entry.Operation == fieldhistory.Replace:
			return fmt.Errorf("--field %s: it has not changed since entry %d created the object", field, entry.Number)
		}
		state, err := fieldhistory.State(u.content(), u.list.Items, entry.Number-1)
		if err != nil {
			return explained(err)
		}
		if u.target, err = fieldhistory.With(u.target, state, field.Path); err != nil {
			return fmt.Errorf("--field %s: %w: name that value instead", field, err)
		}
		if u.goal != "" {
			u.goal += ", "
		}
		if i == 0 {
			u.goal = "without "
		}
		u.goal += fmt.Sprintf("the change of %s in entry %d", field, entry.Number)
	}
	return nil
}

// explained adds to an error of the engine what the user can do.
func explained(err error) error {
	var conflict *fieldhistory.ConflictError
	var version *fieldhistory.VersionError
	switch {
	case errors.As(err, &conflict):
		return fmt.Errorf("%w: a write is missing in the history, so earlier states are not known", err)
	case errors.As(err, &version):
		return fmt.Errorf("%w: the server has not recorded how the one version becomes the other, so earlier states are not known", err)
	case errors.Is(err, fieldhistory.ErrTruncated), errors.Is(err, fieldhistory.ErrWhole):
		return fmt.Errorf("%w, so earlier states are not known", err)
	}
	return err
}

// setType finds out how objects of the kind are divided into fields.
func (u *undo) setType(cmd *cobra.Command, types *ownershipcheck.Types) {
	gvk := u.info.Mapping.GroupVersionKind
	if u.live != nil {
		gvk = u.live.GroupVersionKind()
	}
	u.kind = types.Of(gvk, ownershipcheck.Schemas{Get: func(path string) ([]byte, error) {
		client, err := u.factory.RESTClient()
		if err != nil {
			return nil, err
		}
		return client.Get().AbsPath(path).SetHeader("Accept", "application/json").Do(cmd.Context()).Raw()
	}})
}

// options divide a difference as the history does, and keep all values.
func (u *undo) options() fieldhistory.Options {
	return fieldhistory.Options{Lists: u.kind.Lists(), Limit: 1 << 30}
}

// body returns the object of the request: the live object with the content of the target, or a new object.
func (u *undo) body() map[string]any {
	out := maps.Clone(u.target)
	metadata, _ := out["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	out["metadata"] = metadata
	if u.live == nil {
		out["apiVersion"], out["kind"] = u.version, u.info.Mapping.GroupVersionKind.Kind
		prepareNew(metadata)
		return out
	}
	for _, name := range []string{"apiVersion", "kind", "status"} {
		if v, ok := u.live.Object[name]; ok {
			out[name] = v
		}
	}
	for _, name := range []string{"managedFields", "resourceVersion", "generation"} {
		if v, ok, err := unstructured.NestedFieldNoCopy(u.live.Object, "metadata", name); ok && err == nil {
			metadata[name] = v
		}
	}
	return out
}

// prepareNew removes from the metadata of a deleted object what the server sets, and the finalizers by which it deletes dependents: they
// would be about the deletion of the new object.
func prepareNew(metadata map[string]any) {
	for _, name := range []string{"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} {
		delete(metadata, name)
	}
	finalizers, _ := metadata["finalizers"].([]any)
	kept := slices.DeleteFunc(slices.Clone(finalizers), func(name any) bool { return name == "foregroundDeletion" || name == "orphan" })
	if len(kept) > 0 {
		metadata["finalizers"] = kept
	} else {
		delete(metadata, "finalizers")
	}
}
