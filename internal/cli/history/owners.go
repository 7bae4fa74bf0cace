package history

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// fieldOwners are the fields of an object with their owners.
type fieldOwners []ownership.FieldReport

// subject returns the object with the data about the ownership of its fields. The history has the commands, so that the subject needs none.
func (u *undo) subject() ownership.Subject {
	return ownership.Subject{Type: u.kind, Object: u.live.Object, Managers: u.live.GetManagedFields()}
}

// owners returns the owners of the fields before the change, none if they are not known.
func (u *undo) owners() fieldOwners {
	if u.live == nil || u.kind == nil {
		return nil
	}
	fields, _ := u.subject().OwnerReport()
	return fields
}

// of returns a change with the owners of the fields that it changes. The last writer is that of the newest entry about them, or of the newest
// of the fields.
func (f fieldOwners) of(change fieldhistory.Change, entries []fieldhistory.Entry) changedPart {
	out := changedPart{Change: change}
	// Diff writes paths that can be read back.
	path, _ := value.ParsePath(change.Path)
	seen := map[string]bool{}
	var owners []string
	for _, field := range f {
		if !overlap(path, field.Path.Path) {
			continue
		}
		if field.Owner != "" && !seen[field.Owner] {
			seen[field.Owner] = true
			owners = append(owners, field.Owner)
		}
		if field.SetBy != nil && (out.At == nil || field.At != nil && field.At.After(*out.At)) {
			out.SetBy, out.At = *field.SetBy, field.At
		}
	}
	out.Owner = strings.Join(owners, ", ")
	for _, entry := range slices.Backward(entries) {
		if entry.Operation != fieldhistory.Convert && slices.ContainsFunc(entry.Changes, func(c fieldhistory.Change) bool { return c.Touches(path) }) {
			out.SetBy, out.At = by(entry), &entry.Time
			break
		}
	}
	return out
}

// overlap reports whether one path is the other one or leads to a place inside of it. The two may be of different views, which find items
// by different keys.
func overlap(one, other *value.Path) bool {
	a, b := one.Steps(), other.Steps()
	for i := range min(len(a), len(b)) {
		if a[i].Kind != b[i].Kind || a[i].Kind == value.Item && !canBeSame(a[i], b[i]) || a[i].Kind != value.Item && !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}

// canBeSame reports whether two steps can name the same item: the keys that both tell have the same values.
func canBeSame(one, other value.Step) bool {
	a, _ := one.Value.(map[string]any)
	b, _ := other.Value.(map[string]any)
	for _, key := range one.Keys {
		v, has := a[key]
		w, hasOther := b[key]
		if has && hasOther && !value.Applied.Equal(v, w) {
			return false
		}
	}
	return true
}

// nextApplies says what the next apply of each owner does to the object after the change.
func (u *undo) nextApplies(result *unstructured.Unstructured, changes []fieldhistory.Change) []string {
	if u.kind == nil {
		return nil
	}
	verdict := ownership.Judge(ownership.Write{
		Type: u.kind, Live: u.live.Object, New: result.Object, LiveManagers: u.live.GetManagedFields(), NewManagers: result.GetManagedFields(),
		Writer: ownership.Writer{Act: ownership.Imperative, Exact: true, Command: "holdfast undo", Manager: manager},
	}, nil)
	var lines []string
	for _, finding := range verdict.Findings {
		lines = append(lines, u.nextApply(&verdict, finding))
	}
	if verdict.Note != "" {
		lines = append(lines, "It is not known what the next kubectl apply does: "+verdict.Note)
	}
	lines = append(lines, u.removed(result, changes)...)
	if len(verdict.Findings) > 0 {
		lines = append(lines, fmt.Sprintf("To keep the change, write it into the file, or move the field: holdfast transfer %s --field FIELD --to imperative", u.object.target()))
	}
	return lines
}

// nextApply says what the next apply does to a field that it owns.
func (u *undo) nextApply(verdict *ownership.Verdict, finding ownership.Finding) string {
	isGone := isAbsent(finding.New)
	switch {
	case finding.Manager != "" && isGone:
		return fmt.Sprintf("%s: server-side apply (%s) owns it, and sets it again when it applies", finding.Path, printable(finding.Manager))
	case finding.Manager != "":
		return fmt.Sprintf("%s: server-side apply (%s) loses it to %s; its next apply is refused with a conflict, unless it forces or has the same value",
			finding.Path, printable(finding.Manager), manager)
	case isAbsent(finding.Applied):
		return fmt.Sprintf("%s: kubectl apply owns it; its next run clears it again, unless the file changes", finding.Path)
	}
	return fmt.Sprintf("%s: kubectl apply owns it; its next run sets it to %s again, unless the file changes", finding.Path, verdict.Show(finding.Applied))
}

func isAbsent(v any) bool { return value.Applied.IsAbsent(v) }

// removed names the fields that come back with an earlier last-applied configuration. kubectl apply has removed them since then, and
// removes them again.
func (u *undo) removed(result *unstructured.Unstructured, changes []fieldhistory.Change) []string {
	before := u.live.GetAnnotations()[ownership.LastApplied]
	if before == "" || before == result.GetAnnotations()[ownership.LastApplied] {
		return nil
	}
	configuration := u.subject().Configuration()
	fields, _ := ownership.Subject{Type: u.kind, Object: result.Object, Managers: result.GetManagedFields()}.Fields()
	var lines []string
	for _, field := range fields {
		if field.Applied && !configuration.Sets(field.Path) && isChanged(field.Path.Path, changes) {
			lines = append(lines, fmt.Sprintf("%s: kubectl apply has removed it; its next run removes it again, unless the file changes", field.Path))
		}
	}
	return lines
}

// isChanged reports whether a field is one of the changes.
func isChanged(path *value.Path, changes []fieldhistory.Change) bool {
	for _, change := range changes {
		// Diff writes paths that can be read back.
		if changed, err := value.ParsePath(change.Path); err == nil && overlap(path, changed) {
			return true
		}
	}
	return false
}

// consequences returns what the change does besides the fields.
func (u *undo) consequences() []string {
	var notes []string
	if u.live == nil {
		notes = append(notes, "It is a new object with a new UID: dependents of the deleted object, and its status, do not come back.")
		for _, owner := range (&unstructured.Unstructured{Object: u.target}).GetOwnerReferences() {
			notes = append(notes, fmt.Sprintf("Its owner is %s %s: if that is gone, the server deletes the object again.", owner.Kind, owner.Name))
		}
		return notes
	}
	after := &unstructured.Unstructured{Object: u.target}
	if u.live.GetLabels()[fieldhistory.Label] != after.GetLabels()[fieldhistory.Label] {
		notes = append(notes, fmt.Sprintf("The label %s changes: without it, the server records no further change, unless the namespace has it.", fieldhistory.Label))
	}
	if accessor, err := meta.Accessor(after); err == nil && len(accessor.GetFinalizers()) > len(u.live.GetFinalizers()) {
		notes = append(notes, "The object gets finalizers: its deletion waits until a controller removes them.")
	}
	return notes
}
