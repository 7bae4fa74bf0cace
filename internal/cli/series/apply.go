package series

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// attempts is how often a command reads a workload again that others change at the same time.
const attempts = 5

// try lets the server try an edit without storing it, and returns what it would store. Without force the server names the fields of other
// managers. These must be references that follow: then the edit is forced, and nothing else is.
func (s *server) try(ctx context.Context, e *edit) (*unstructured.Unstructured, error) {
	options := metav1.ApplyOptions{FieldManager: e.id.manager(), DryRun: []string{metav1.DryRunAll}}
	tried, err := e.client(s).Apply(ctx, e.live.GetName(), e.applied, options)
	conflicts := conflictsOf(err)
	if len(conflicts) == 0 {
		return tried, err
	}
	for _, conflict := range conflicts {
		isReference := func(c change) bool { return c.sent.path.String() == conflict.Field }
		if !slices.ContainsFunc(e.changes, isReference) {
			// The server looks for conflicts before it compares the resourceVersion.
			if live, err := e.client(s).Get(ctx, e.live.GetName(), metav1.GetOptions{}); err != nil ||
				live.GetResourceVersion() != e.live.GetResourceVersion() {
				return nil, cmp.Or(err, errStale)
			}
			return nil, refused("%s: %s would change, which is no reference to the series: %s; let that manager give up the field, "+
				"or remove it from the manager %s", e, strings.TrimPrefix(conflict.Field, "."), conflict.Message, e.id.manager())
		}
	}
	e.force, options.Force = true, true
	return e.client(s).Apply(ctx, e.live.GetName(), e.applied, options)
}

// conflictsOf returns the fields of other managers that an apply would change.
func conflictsOf(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var found []metav1.StatusCause
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			found = append(found, cause)
		}
	}
	return found
}

// errStale is the error of an edit of an object that has changed since it was read.
var errStale = errors.New("the object has changed since it was read: run the command again")

// isStale reports whether a write failed because the object has changed since it was read.
func isStale(err error) bool {
	return errors.Is(err, errStale) || apierrors.IsConflict(err) && len(conflictsOf(err)) == 0
}

// send writes an edit. If the workload has changed in between, it reads it again, and edits it anew.
func (s *server) send(ctx context.Context, e *edit, m *members, to string) (*unstructured.Unstructured, error) {
	for attempt := 1; ; attempt++ {
		stored, err := s.sendOnce(ctx, e)
		if !isStale(err) || attempt == attempts {
			return stored, err
		}
		live, err := e.client(s).Get(ctx, e.live.GetName(), metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		again := &workload{resource: e.resource, live: live, rules: e.rules}
		if e, err = s.edit(ctx, again, m, to); err != nil || len(e.changes) == 0 {
			return live, err
		}
		if _, err := s.try(ctx, e); err != nil && !isStale(err) {
			return nil, err
		}
	}
}

func (s *server) sendOnce(ctx context.Context, e *edit) (*unstructured.Unstructured, error) {
	entries, err := e.released()
	if err != nil {
		return nil, err
	}
	if entries != nil {
		moved, err := s.move(ctx, e, entries)
		if err != nil {
			return nil, err
		}
		e.applied.SetResourceVersion(moved.GetResourceVersion())
	}
	return e.client(s).Apply(ctx, e.live.GetName(), e.applied, metav1.ApplyOptions{FieldManager: e.id.manager(), Force: e.force})
}

// move stores other managed fields. It changes no other field, so no pod restarts.
func (s *server) move(ctx context.Context, e *edit, entries []metav1.ManagedFieldsEntry) (*unstructured.Unstructured, error) {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": e.live.GetUID()},
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": e.live.GetResourceVersion()},
	})
	if err != nil {
		return nil, err
	}
	return e.client(s).Patch(ctx, e.live.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: e.id.manager()})
}

// released returns the managed fields in which only the manager of the series owns the items of lists that have to go. Server-side apply
// removes an item if its manager does not send it any more and no other manager owns it. It returns nil if that is so already.
func (e *edit) released() ([]metav1.ManagedFieldsEntry, error) {
	taken, changed := fieldpath.NewSet(), false
	var entries []metav1.ManagedFieldsEntry
	for _, entry := range e.live.GetManagedFields() {
		owned, err := ownedBy(entry)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e, err)
		}
		part := fieldpath.NewSet()
		for _, c := range e.changes {
			if c.replaced != nil {
				part = part.Union(below(owned, c.replaced))
			}
		}
		if isApply(entry, e.id.manager()) || part.Empty() {
			entries = append(entries, entry)
			continue
		}
		taken, changed = taken.Union(part), true
		if rest := owned.Difference(part); !rest.Empty() {
			if entry.FieldsV1, err = encode(rest); err != nil {
				return nil, err
			}
			entries = append(entries, entry)
		}
	}
	if !changed {
		return nil, nil
	}
	at := slices.IndexFunc(entries, func(entry metav1.ManagedFieldsEntry) bool { return isApply(entry, e.id.manager()) })
	if at < 0 {
		now := metav1.NewTime(time.Now().UTC().Truncate(time.Second))
		at = len(entries)
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: e.id.manager(), Operation: metav1.ManagedFieldsOperationApply, APIVersion: e.live.GetAPIVersion(),
			FieldsType: "FieldsV1", Time: &now,
		})
	}
	owned, err := ownedBy(entries[at])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e, err)
	}
	entries[at].FieldsV1, err = encode(owned.Union(taken))
	return entries, err
}

func encode(set *fieldpath.Set) (*metav1.FieldsV1, error) {
	text, err := set.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("encode managed fields: %w", err)
	}
	return metav1.NewFieldsV1(string(text)), nil
}
