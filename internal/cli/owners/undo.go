package owners

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/managers"
)

// runUndo moves the fields of a record back, the last move first. It needs no record of its own: an object that has its fields
// back already needs no change, so a run that was killed goes on where it was.
func (t transferOptions) runUndo(cmd *cobra.Command, o objects) error {
	r, err := readRecord(t.bulk.undo)
	if err != nil {
		return err
	}
	if r.file != nil {
		defer func() { _ = r.file.Close() }() // it was only read
	}
	if r.size == 0 {
		return fmt.Errorf("record %s: it does not exist, or has no move", t.bulk.undo)
	}
	m, err := newMover(t, o, cmd.OutOrStdout(), notesTo(cmd))
	if err != nil {
		return err
	}
	cluster, err := m.cluster(cmd.Context())
	if err != nil {
		return err
	}
	if err := r.header.isOf(cluster); err != nil {
		return fmt.Errorf("record %s: %w", t.bulk.undo, err)
	}
	for _, line := range slices.Backward(r.lines) {
		move, err := r.move(line)
		if err != nil {
			return fmt.Errorf("record %s: %w", t.bulk.undo, err)
		}
		if err := m.undo(cmd, move); err != nil {
			return interrupted(err)
		}
	}
	return m.end("moved back")
}

// undo moves the fields of one move back.
func (m *mover) undo(cmd *cobra.Command, move recordedMove) error {
	of := move.kind()
	obj, err := m.get(cmd.Context(), of, move.Namespace, move.Name)
	if apierrors.IsNotFound(err) {
		fmt.Fprintf(m.notes, "note: %s: it is gone\n", move)
		return nil
	}
	if err != nil && isAnswer(err) {
		m.fail(move.String(), err)
		return nil
	}
	if err != nil {
		return err
	}
	var back int
	var lost *fieldpath.Set
	result, err := m.change(cmd.Context(), of, obj, func(obj *metav1.PartialObjectMetadata) (*managers.Fields, error) {
		back, lost = 0, nil
		if obj.UID != move.UID {
			fmt.Fprintf(m.notes, "note: %s: it is another object with the same name\n", move)
			return nil, nil
		}
		fields := managers.New(obj.ManagedFields, time.Now())
		var err error
		if lost, err = move.Undo(fields); err != nil || !fields.Changed() {
			return nil, err
		}
		all, err := move.Fields()
		if err != nil {
			return nil, err
		}
		back = all.Difference(lost).Leaves().Size()
		return fields, nil
	})
	if err != nil || result == refused || result == gone {
		return err
	}
	return m.sayUndone(move, back, lost)
}

// sayUndone writes what moved back, and what did not.
func (m *mover) sayUndone(move recordedMove, back int, lost *fieldpath.Set) error {
	if back > 0 {
		m.changed++
		m.fields += back
		if _, err := fmt.Fprintf(m.out, "%s: %s moved back%s\n", move, count(back, "field"), m.dryRun.Suffix()); err != nil {
			return err
		}
	}
	if lost == nil || lost.Empty() {
		return nil
	}
	var paths []string
	lost.Leaves().Iterate(func(path fieldpath.Path) { paths = append(paths, shown(path)) })
	fmt.Fprintf(m.notes, "note: %s: not moved back, because %s does not own it any more: %s\n", move, move.Gave.Manager, strings.Join(paths, ", "))
	return nil
}
