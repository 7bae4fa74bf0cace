package managers

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/ownership"
)

// controllerManager is the manager of the controllers of Kubernetes, such as the one that scales Deployments for an autoscaler.
const controllerManager = "kube-controller-manager"

// Selection says which fields of objects move, and to which manager.
type Selection struct {
	// From are the managers that lose fields. A name with * at its end stands for all names with that beginning. Without an
	// operation, the entries of both operations lose fields.
	From []Writer
	To   Writer
	// Fields are the fields that move. Without any, all fields move, except those of subresources and of kube-controller-manager:
	// an apply that owned the status or the replicas of an autoscaler would remove them.
	Fields []ownership.Path
}

// Object is what a Selection needs of an object.
type Object struct {
	// Version is the API version in which the object was read.
	Version string
	Entries []metav1.ManagedFieldsEntry
	// Has reports whether the object has a field.
	Has func(fieldpath.Path) bool
}

// Move is a change of the managers of one object. It has only the names of fields, and the keys of items in lists.
type Move struct {
	// Took are the entries that lose fields, each with the fields that it loses.
	Took []metav1.ManagedFieldsEntry `json:"took"`
	// Gave is the entry that gets fields, with those that it did not have before.
	Gave metav1.ManagedFieldsEntry `json:"gave"`
	// Left are the entries whose fields do not move, because the object does not have them at the same path in the version of the new
	// entry. Each has the fields that it keeps.
	Left []metav1.ManagedFieldsEntry `json:"-"`
}

// Empty reports whether nothing moves.
func (m Move) Empty() bool { return len(m.Took) == 0 }

// Plan returns what moves in an object. Fields of an entry in another API version than the entry that gets them move only if the
// object has a field at the same path.
func (s Selection) Plan(obj Object) (Move, error) {
	move := Move{Gave: metav1.ManagedFieldsEntry{
		Manager: s.To.Manager, Operation: s.To.Operation, APIVersion: obj.Version, FieldsType: "FieldsV1",
	}}
	had := fieldpath.NewSet()
	if at := slices.IndexFunc(obj.Entries, s.isTarget); at >= 0 {
		set, err := Decode(obj.Entries[at])
		if err != nil {
			return Move{}, err
		}
		had, move.Gave.APIVersion = set, obj.Entries[at].APIVersion
	}
	all := fieldpath.NewSet()
	for _, entry := range obj.Entries {
		if s.isTarget(entry) || !s.isSource(entry) {
			continue
		}
		set, err := Decode(entry)
		if err != nil {
			return Move{}, err
		}
		part := s.within(set)
		if entry.APIVersion != move.Gave.APIVersion {
			found := existing(part, obj, move.Gave.APIVersion)
			if err := move.leave(entry, part.Difference(found)); err != nil {
				return Move{}, err
			}
			part = part.Intersection(found)
		}
		if part.Empty() {
			continue
		}
		if entry.FieldsV1, err = Encode(part); err != nil {
			return Move{}, err
		}
		move.Took = append(move.Took, entry)
		all = all.Union(part)
	}
	fields, err := Encode(all.Difference(had))
	move.Gave.FieldsV1 = fields
	return move, err
}

// leave adds an entry with the fields that it keeps.
func (m *Move) leave(entry metav1.ManagedFieldsEntry, kept *fieldpath.Set) (err error) {
	if kept.Empty() {
		return nil
	}
	entry.FieldsV1, err = Encode(kept)
	m.Left = append(m.Left, entry)
	return err
}

// isTarget reports whether an entry is the one that gets fields.
func (s Selection) isTarget(entry metav1.ManagedFieldsEntry) bool {
	return WriterOf(entry) == s.To && entry.Subresource == ""
}

// isSource reports whether an entry loses fields.
func (s Selection) isSource(entry metav1.ManagedFieldsEntry) bool {
	if len(s.Fields) == 0 && (entry.Subresource != "" || entry.Manager == controllerManager) {
		return false
	}
	return slices.ContainsFunc(s.From, func(from Writer) bool { return from.matches(WriterOf(entry)) })
}

// matches reports whether a writer is one that w stands for.
func (w Writer) matches(other Writer) bool {
	if w.Operation != "" && w.Operation != other.Operation {
		return false
	}
	if beginning, found := strings.CutSuffix(w.Manager, "*"); found {
		return strings.HasPrefix(other.Manager, beginning)
	}
	return w.Manager == other.Manager
}

// within returns the fields of a set that move.
func (s Selection) within(set *fieldpath.Set) *fieldpath.Set {
	if len(s.Fields) == 0 {
		return set
	}
	part := fieldpath.NewSet()
	for _, path := range s.Fields {
		part = part.Union(Within(set, path))
	}
	return part
}

// existing returns the fields of a set that an object has in a version. If the object was read in another version, it is not known
// to have any.
func existing(set *fieldpath.Set, obj Object, version string) *fieldpath.Set {
	found := fieldpath.NewSet()
	if obj.Version != version || obj.Has == nil {
		return found
	}
	set.Iterate(func(path fieldpath.Path) {
		if obj.Has(path) {
			found.Insert(path.Copy())
		}
	})
	return found
}

// Fields returns all fields that the move takes.
func (m Move) Fields() (*fieldpath.Set, error) {
	all := fieldpath.NewSet()
	for _, entry := range m.Took {
		set, err := Decode(entry)
		if err != nil {
			return nil, err
		}
		all = all.Union(set)
	}
	return all, nil
}

// Do moves the fields.
func (m Move) Do(fields *Fields) error {
	all, err := m.Fields()
	if err != nil {
		return err
	}
	_, _, err = fields.Take(func(entry metav1.ManagedFieldsEntry, _ *fieldpath.Set) *fieldpath.Set {
		for _, took := range m.Took {
			if isSame(entry, took) {
				// Fields has decoded it before.
				set, _ := Decode(took)
				return set
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return fields.Add(m.target(), all)
}

// Undo moves the fields back that the new manager still has and the earlier one does not. It returns those that neither has any
// more, for example because an apply has removed them since.
func (m Move) Undo(fields *Fields) (lost *fieldpath.Set, err error) {
	now, err := fields.find(m.Gave)
	if err != nil {
		return nil, err
	}
	gave, err := Decode(m.Gave)
	if err != nil {
		return nil, err
	}
	lost, all := fieldpath.NewSet(), fieldpath.NewSet()
	for _, took := range m.Took {
		set, err := Decode(took)
		if err != nil {
			return nil, err
		}
		earlier, err := fields.find(took)
		if err != nil {
			return nil, err
		}
		moved := set.Difference(earlier)
		lost = lost.Union(moved.Difference(now))
		back := moved.Intersection(now)
		if back.Empty() {
			continue
		}
		if err := fields.Add(took, back); err != nil {
			return nil, err
		}
		all = all.Union(back)
	}
	_, _, err = fields.Take(func(entry metav1.ManagedFieldsEntry, _ *fieldpath.Set) *fieldpath.Set {
		if !isSame(entry, m.Gave) {
			return nil
		}
		return gave.Intersection(all)
	})
	return lost, err
}

// target returns the entry that gets fields, without them.
func (m Move) target() metav1.ManagedFieldsEntry {
	to := m.Gave
	to.FieldsV1 = nil
	return to
}

// find returns the fields of an entry of the same writer, empty if there is none.
func (f *Fields) find(like metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	at := slices.IndexFunc(f.entries, func(entry metav1.ManagedFieldsEntry) bool { return isSame(entry, like) })
	if at < 0 {
		return fieldpath.NewSet(), nil
	}
	return Decode(f.entries[at])
}

// isSame reports whether two entries are those of one writer. The API server has one entry for each manager of server-side apply
// and subresource, and for other writes one for each API version too.
func isSame(a, b metav1.ManagedFieldsEntry) bool {
	return WriterOf(a) == WriterOf(b) && a.Subresource == b.Subresource && (a.APIVersion == b.APIVersion || a.Operation == apply)
}
