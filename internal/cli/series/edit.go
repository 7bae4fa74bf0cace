package series

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/value"
)

// change is one reference that follows.
type change struct {
	path     *value.Path
	from, to string
	// sent is where server-side apply sees it after the change.
	sent place
	// replaced is the item of a list that has to go, because the name is the key of the item. It is nil otherwise.
	replaced fieldpath.Path
	// managers are the field managers that owned the reference before.
	managers []string
}

// edit is what a command changes in one workload.
type edit struct {
	*workload
	// id is the series.
	id      identity
	changes []change
	// settled is how many references have the new name already.
	settled int
	// changed is the workload with the new names.
	changed *unstructured.Unstructured
	// applied is what the manager of the series sends: the references, and all other fields that it owns already.
	applied *unstructured.Unstructured
	// force says that other managers own references that change.
	force bool
}

// edit computes how the references of a workload to members of a series become references to one of them.
func (s *server) edit(ctx context.Context, w *workload, m *members, to string) (*edit, error) {
	e := &edit{workload: w, id: m.identity, changed: w.live.DeepCopy()}
	for _, r := range w.references(m.kind, s.namespace) {
		switch {
		case r.Name == to:
			e.settled++
		case m.covers(r.Name):
			setName(e.changed.Object, r.Path, to)
			e.changes = append(e.changes, change{path: r.Path, from: r.Name, to: to})
		}
	}
	if len(e.changes) == 0 {
		return e, nil
	}
	before, err := s.typed(ctx, w.live)
	if err != nil {
		return nil, err
	}
	after, err := s.typed(ctx, e.changed)
	if err != nil {
		return nil, err
	}
	for i := range e.changes {
		if err := e.locate(&e.changes[i], before, after); err != nil {
			return nil, err
		}
	}
	e.dropRepeated(after)
	if after, err = s.typed(ctx, e.changed); err != nil {
		return nil, err
	}
	return e, e.compose(after)
}

// update replaces the value at a place of an object by what a function makes of it.
func update(current any, steps []value.Step, with func(any) any) any {
	if len(steps) == 0 {
		return with(current)
	}
	switch step := steps[0]; now := current.(type) {
	case map[string]any:
		now[step.Name] = update(now[step.Name], steps[1:], with)
	case []any:
		now[step.Index] = update(now[step.Index], steps[1:], with)
	}
	return current
}

// setName replaces the name in a reference. The text may have a namespace before the name.
func setName(object map[string]any, path *value.Path, name string) {
	update(object, path.Steps(), func(old any) any {
		text, _ := old.(string)
		return text[:strings.Index(text, "/")+1] + name
	})
}

// locate finds out what server-side apply sets for a change, and which managers owned it before.
func (e *edit) locate(c *change, before, after *typed.TypedValue) error {
	was, err := locate(before, c.path)
	if err == nil {
		c.sent, err = locate(after, c.path)
	}
	if err != nil {
		return command.Unable(fmt.Errorf("%s: %w", e, err))
	}
	for i := range min(len(was.path), len(c.sent.path)) {
		if !was.path[i].Equals(c.sent.path[i]) {
			// The name is a key: this is another item of the list now.
			c.replaced, c.sent.path = was.path[:i+1], c.sent.path[:i+1]
			break
		}
	}
	if c.sent.repeated && c.replaced == nil {
		return refused("%s: %s: the list around it has several items with the same key, which server-side apply cannot change: "+
			"give them different keys", e, c.path)
	}
	for _, entry := range e.live.GetManagedFields() {
		owned, err := ownedBy(entry)
		if err != nil {
			return command.Unable(fmt.Errorf("%s: %w", e, err))
		}
		isNew := entry.Manager != e.id.manager() && !slices.Contains(c.managers, entry.Manager)
		if isNew && !below(owned, was.path).Empty() {
			c.managers = append(c.managers, entry.Manager)
		}
	}
	return nil
}

// dropRepeated removes the items of lists that have the same key as another one after the change.
func (e *edit) dropRepeated(after *typed.TypedValue) {
	for _, c := range e.changes {
		if c.replaced == nil || !c.sent.repeated {
			continue
		}
		list := value.NewPath(c.path.Steps()[:len(c.replaced)-1]...)
		update(e.changed.Object, list.Steps(), func(now any) any {
			items, _ := now.([]any)
			seen := map[string]bool{}
			var kept []any
			for i, item := range items {
				// It cannot fail: the way to the list is in the schema.
				if at, err := locate(after, list.Index(i)); err != nil || !seen[at.path.String()] {
					kept, seen[at.path.String()] = append(kept, item), true
				}
			}
			return kept
		})
	}
}

// compose builds the object for server-side apply.
func (e *edit) compose(after *typed.TypedValue) error {
	all, err := after.ToFieldSet()
	if err != nil {
		return command.Unable(fmt.Errorf("%s: %w", e, err))
	}
	send := fieldpath.NewSet()
	for _, entry := range e.live.GetManagedFields() {
		if !isApply(entry, e.id.manager()) {
			continue
		}
		owned, err := ownedBy(entry)
		if err != nil {
			return command.Unable(fmt.Errorf("%s: %w", e, err))
		}
		send = send.Union(owned.Leaves())
	}
	for _, c := range e.changes {
		send = send.Union(below(all, c.sent.path))
	}
	content, _ := after.ExtractItems(send, typed.WithAppendKeyFields()).AsValue().Unstructured().(map[string]any)
	e.applied = &unstructured.Unstructured{Object: content}
	e.applied.SetGroupVersionKind(e.live.GroupVersionKind())
	e.applied.SetName(e.live.GetName())
	e.applied.SetNamespace(e.live.GetNamespace())
	e.applied.SetResourceVersion(e.live.GetResourceVersion())
	return nil
}

// withoutReplaced removes the items from a workload that have to go. A dry run of server-side apply leaves them there: the manager of the
// series does not own them yet.
func (e *edit) withoutReplaced(object *unstructured.Unstructured) *unstructured.Unstructured {
	for _, c := range e.changes {
		if c.replaced == nil {
			continue
		}
		steps := c.path.Steps()
		at := len(c.replaced) - 1
		update(object.Object, steps[:at], func(now any) any {
			items, _ := now.([]any)
			return slices.DeleteFunc(items, func(item any) bool {
				if fields, isObject := item.(map[string]any); isObject && at+1 < len(steps) {
					item = fields[steps[at+1].Name]
				}
				return item == c.from
			})
		})
	}
	return object
}
