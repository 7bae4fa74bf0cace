package owners

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/ownership"
)

// runBulk moves fields in many objects.
func (t transferOptions) runBulk(cmd *cobra.Command, o objects, args []string) (err error) {
	plan, err := t.plan(args)
	if err != nil {
		return err
	}
	if plan.namespace, _, err = o.factory.ToRawKubeConfigLoader().Namespace(); err != nil {
		return err
	}
	m, err := newMover(t, o, cmd.OutOrStdout(), notesTo(cmd))
	if err != nil {
		return err
	}
	kinds, unavailable, err := plan.kinds(o.factory)
	if err != nil {
		return err
	}
	if unavailable != nil {
		fmt.Fprintf(m.notes, "note: not all APIs answer: %v\n", unavailable)
	}
	var r *record
	if !t.dryRun.IsSet() {
		cluster, err := m.cluster(cmd.Context())
		if err != nil {
			return err
		}
		if r, err = openRecord(t.bulk.record, plan.header(cluster)); err != nil {
			return err
		}
		defer func() { err = firstError(err, r.file.Close()) }()
	}
	for _, of := range kinds {
		err := plan.each(cmd.Context(), m.metadata, of, func(obj *metav1.PartialObjectMetadata) error {
			return plan.move(cmd, m, of, obj, r)
		}, m.notes)
		if err != nil {
			return interrupted(err)
		}
	}
	return m.end("moved")
}

func firstError(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// move moves the fields of one object. The line in the record comes before each request, so a run that is killed leaves no move
// without its line.
func (p *bulk) move(cmd *cobra.Command, m *mover, of kind, obj *metav1.PartialObjectMetadata, r *record) error {
	var planned *change
	result, err := m.change(cmd.Context(), of, obj, func(obj *metav1.PartialObjectMetadata) (*managers.Fields, error) {
		planned = nil
		if p.tool != nil && !p.tool.Applies(obj) {
			return nil, nil
		}
		c, err := p.changeOf(cmd, m, of, obj)
		if err != nil {
			return nil, err
		}
		if planned = c; c.Empty() {
			return nil, nil
		}
		fields := managers.New(obj.ManagedFields, time.Now())
		if err := c.Do(fields); err != nil {
			return nil, err
		}
		if r != nil {
			err := r.write(recordedMove{
				Group: of.GroupVersionResource.Group, Version: of.GroupVersionResource.Version, Resource: of.Resource,
				Namespace: obj.Namespace, Name: obj.Name, UID: obj.UID, Namespaced: of.namespaced, Move: c.Move,
			})
			if err != nil {
				return nil, fmt.Errorf("record: %w", err)
			}
		}
		return fields, nil
	})
	if err != nil {
		return err
	}
	if planned != nil {
		planned.sayLeft(m)
	}
	if result != changed {
		return nil
	}
	return planned.print(cmd, m, p)
}

// change is what moves in one object.
type change struct {
	managers.Move
	of  kind
	obj *metav1.PartialObjectMetadata
	all *fieldpath.Set
}

// changeOf returns what moves in an object. It reads the content of the object only if a field is recorded in another version.
func (p *bulk) changeOf(cmd *cobra.Command, m *mover, of kind, obj *metav1.PartialObjectMetadata) (*change, error) {
	var content map[string]any
	var failed error
	move, err := p.Plan(managers.Object{
		Version: of.GroupVersionResource.GroupVersion().String(), Entries: obj.ManagedFields,
		Has: func(path fieldpath.Path) bool {
			if content == nil && failed == nil {
				content, failed = m.content(cmd.Context(), of, obj)
			}
			return managers.Has(content, path)
		},
	})
	if err = firstError(err, failed); err != nil {
		return nil, err
	}
	all, err := move.Fields()
	return &change{Move: move, of: of, obj: obj, all: all}, err
}

// print writes what moved in an object, and in a dry run also what the next apply removes.
func (c *change) print(cmd *cobra.Command, m *mover, p *bulk) error {
	leaves := c.all.Leaves()
	m.changed++
	m.fields += leaves.Size()
	var from []string
	for _, entry := range c.Took {
		from = append(from, nameOfEntry(entry))
	}
	name := nameOf(c.of.GroupResource(), c.obj.Namespace, c.obj.Name)
	if _, err := fmt.Fprintf(m.out, "%s: %s of %s moved to %s%s\n",
		name, count(leaves.Size(), "field"), strings.Join(from, ", "), p.To.Manager, m.dryRun.Suffix()); err != nil {
		return err
	}
	if !m.dryRun.IsSet() {
		return nil
	}
	leaves.Iterate(func(path fieldpath.Path) { fmt.Fprintf(m.out, "  %s\n", shown(path)) })
	removed, known, err := c.removed(cmd, m)
	if err != nil && isAnswer(err) && cmd.Context().Err() == nil {
		m.fail(name, fmt.Errorf("it is not known what the next apply of %s removes: %w", p.To.Manager, err))
		return nil
	}
	if err != nil {
		return err
	}
	if !known {
		fmt.Fprintf(m.out, "  %s has not applied it yet: its next apply removes those of the fields that its file does not have\n", p.To.Manager)
		return nil
	}
	for _, path := range removed {
		fmt.Fprintf(m.out, "  the next apply of %s removes %s, unless its file has it\n", p.To.Manager, path)
	}
	return nil
}

// sayLeft notes the fields that stay with their managers, because they are in another version of the API.
func (c *change) sayLeft(m *mover) {
	for _, entry := range c.Left {
		set, err := managers.Decode(entry)
		if err != nil {
			continue // it was encoded here
		}
		var paths []string
		set.Leaves().Iterate(func(path fieldpath.Path) { paths = append(paths, shown(path)) })
		m.left += len(paths)
		fmt.Fprintf(m.notes, "note: %s: %s of %s not moved: other version: the entry is in %s, and the object has no such field in %s: %s\n",
			nameOf(c.of.GroupResource(), c.obj.Namespace, c.obj.Name), count(len(paths), "field"), nameOfEntry(entry),
			entry.APIVersion, c.Gave.APIVersion, strings.Join(paths, ", "))
	}
}

func nameOfEntry(entry metav1.ManagedFieldsEntry) string {
	if entry.Subresource != "" {
		return fmt.Sprintf("%s (%s of %s)", entry.Manager, entry.Operation, entry.Subresource)
	}
	return fmt.Sprintf("%s (%s)", entry.Manager, entry.Operation)
}

// shown returns a field as --fields takes it.
func shown(path fieldpath.Path) string {
	if known, ok := ownership.PathOf(path); ok {
		return known.String()
	}
	return path.String()
}
