package owners

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// removed returns the fields that the next apply of the new manager removes. The file of the manager has the fields that it owned
// before. If it has not applied the object yet, removed takes the file from the last-applied configuration. known is false if there
// is neither.
// It leaves out fields that another manager owns too, because an apply keeps those, fields that the server sets to the same value
// again, and the last-applied configuration itself, which no file has.
func (c *change) removed(cmd *cobra.Command, m *mover) (paths []string, known bool, err error) {
	file, before, others, err := c.owned()
	if err != nil || file == nil && before.Empty() {
		return nil, false, err
	}
	var candidates []fieldpath.Path
	c.all.Leaves().Iterate(func(path fieldpath.Path) {
		if !before.Has(path) && !others.Has(path) && !managers.Has(file, path) && last(path) != ownership.LastApplied {
			candidates = append(candidates, path.Copy())
		}
	})
	if len(candidates) == 0 {
		return nil, true, nil
	}
	content, err := m.content(cmd.Context(), c.of, c.obj)
	if err != nil {
		return nil, true, err
	}
	complete := m.objects.withDefaults(cmd, c.of, content, candidates)
	for _, path := range candidates {
		live, found := managers.Get(content, path)
		if !found {
			continue
		}
		if again, found := managers.Get(complete, path); found && value.Applied.Equal(live, again) {
			continue
		}
		paths = append(paths, shown(path))
	}
	return paths, true, nil
}

// last returns the name at the end of a path.
func last(path fieldpath.Path) string {
	if element := path[len(path)-1]; element.FieldName != nil {
		return *element.FieldName
	}
	return ""
}

// owned returns what tells which fields the file of the new manager has, and which fields stay anyway. before are the fields that the new
// manager owned before. If there are none, file is the last-applied configuration. others are the fields of managers that keep theirs.
func (c *change) owned() (file any, before, others *fieldpath.Set, err error) {
	before, others = fieldpath.NewSet(), fieldpath.NewSet()
	for _, entry := range c.obj.ManagedFields {
		set, err := managers.Decode(entry)
		if err != nil {
			return nil, nil, nil, err
		}
		isTarget := managers.WriterOf(entry) == managers.WriterOf(c.Gave) && entry.Subresource == ""
		if isTarget {
			before = before.Union(set)
			continue
		}
		for _, took := range c.Took {
			if entry.Manager == took.Manager && entry.Operation == took.Operation && entry.Subresource == took.Subresource &&
				entry.APIVersion == took.APIVersion {
				taken, err := managers.Decode(took)
				if err != nil {
					return nil, nil, nil, err
				}
				set = set.Difference(taken)
			}
		}
		others = others.Union(set)
	}
	if text := c.obj.Annotations[ownership.LastApplied]; text != "" && before.Empty() {
		// A malformed configuration tells nothing about the file.
		_ = json.Unmarshal([]byte(text), &file)
	}
	return file, before, others, nil
}

// content reads the content of an object.
func (m *mover) content(ctx context.Context, of kind, obj *metav1.PartialObjectMetadata) (map[string]any, error) {
	if err := m.limit.Wait(ctx); err != nil {
		return nil, err
	}
	resource := m.dynamic.Resource(of.GroupVersionResource)
	if !of.namespaced {
		found, err := resource.Get(ctx, obj.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return found.Object, nil
	}
	found, err := resource.Namespace(obj.Namespace).Get(ctx, obj.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return found.Object, nil
}

// withDefaults returns an object without some fields, and with the defaults that the server sets then. If they are not known, there
// are none.
func (o objects) withDefaults(cmd *cobra.Command, of kind, content map[string]any, without []fieldpath.Path) any {
	reduced := any(content)
	for _, path := range without {
		reduced = managers.Without(reduced, path)
	}
	fields, _ := reduced.(map[string]any)
	t := o.types.Of(of.GroupVersionKind, o.schemas(cmd))
	if t.Default == nil {
		return fields
	}
	complete, err := t.Default(fields)
	if err != nil {
		return fields
	}
	return complete
}
