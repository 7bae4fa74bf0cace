package series

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	smdvalue "sigs.k8s.io/structured-merge-diff/v6/value"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/value"
)

// typed returns an object with its type, by the schema that the server publishes.
func (s *server) typed(ctx context.Context, object *unstructured.Unstructured) (*typed.TypedValue, error) {
	gvk := object.GroupVersionKind()
	types := s.types[gvk.GroupVersion()]
	if types == nil {
		text, err := s.get(ctx, judgement.PublishedPath(gvk))
		if err != nil {
			return nil, command.Unable(fmt.Errorf("read the schema of %s: %w", gvk.GroupVersion(), err))
		}
		var document struct {
			Components struct {
				Schemas map[string]*spec.Schema `json:"schemas"`
			} `json:"components"`
		}
		if err := json.Unmarshal(text, &document); err != nil {
			return nil, command.Unable(fmt.Errorf("read the schema of %s: %w", gvk.GroupVersion(), err))
		}
		if types, err = managedfields.NewTypeConverter(document.Components.Schemas, false); err != nil {
			return nil, command.Unable(fmt.Errorf("read the schema of %s: %w", gvk.GroupVersion(), err))
		}
		s.types[gvk.GroupVersion()] = types
	}
	out, err := types.ObjectToTyped(object, typed.AllowDuplicates)
	if err != nil {
		return nil, command.Unable(fmt.Errorf("%s %s does not match the schema that the server publishes: %w", gvk.Kind, object.GetName(), err))
	}
	return out, nil
}

// place is where server-side apply sees a field.
type place struct {
	// path is that of the field. If an atomic list or map contains the field, it is that of the list or map.
	path  fieldpath.Path
	whole bool
	// repeated says that a list on the way has several items with the same key.
	repeated bool
}

// locate returns the place of a field.
func locate(object *typed.TypedValue, path *value.Path) (place, error) {
	var at place
	ref, current := object.TypeRef(), object.AsValue().Unstructured()
	for _, step := range path.Steps() {
		atom, ok := object.Schema().Resolve(ref)
		if !ok {
			return at, fmt.Errorf("%s: the schema of the server does not have it", path)
		}
		switch now := current.(type) {
		case map[string]any:
			if atom.Map == nil || step.Kind != value.Name {
				return at, fmt.Errorf("%s: the schema of the server does not have it", path)
			}
			if atom.Map.ElementRelationship == schema.Atomic {
				at.whole = true
				return at, nil
			}
			at.path = append(at.path, fieldpath.FieldNameElement(step.Name))
			ref = atom.Map.ElementType
			if field, known := atom.Map.FindField(step.Name); known {
				ref = field.Type
			}
			current = now[step.Name]
		case []any:
			if atom.List == nil || step.Kind != value.Index {
				return at, fmt.Errorf("%s: the schema of the server does not have it", path)
			}
			if atom.List.ElementRelationship == schema.Atomic {
				at.whole = true
				return at, nil
			}
			element := elementOf(object.Schema(), atom.List, now[step.Index])
			for i, item := range now {
				at.repeated = at.repeated || i != step.Index && elementOf(object.Schema(), atom.List, item).Equals(element)
			}
			at.path = append(at.path, element)
			ref, current = atom.List.ElementType, now[step.Index]
		}
	}
	return at, nil
}

// elementOf returns how server-side apply names an item of a list: by its keys, or by its value.
func elementOf(types *schema.Schema, list *schema.List, item any) fieldpath.PathElement {
	object, isObject := item.(map[string]any)
	if len(list.Keys) == 0 || !isObject {
		return fieldpath.ValueElement(smdvalue.NewValueInterface(item))
	}
	atom, _ := types.Resolve(list.ElementType)
	var keys smdvalue.FieldList
	for _, name := range list.Keys {
		v, found := object[name]
		if !found && atom.Map != nil {
			if field, known := atom.Map.FindField(name); known {
				v = field.Default
			}
		}
		keys = append(keys, smdvalue.Field{Name: name, Value: smdvalue.NewValueInterface(v)})
	}
	return fieldpath.KeyElement(keys...)
}

// ownedBy returns the fields that an entry of managed fields has.
func ownedBy(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if entry.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
		return nil, fmt.Errorf("managed fields of %s: %w", entry.Manager, err)
	}
	return set, nil
}

// isApply reports whether an entry of managed fields is that of a manager of server-side apply.
func isApply(entry metav1.ManagedFieldsEntry, manager string) bool {
	return entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// below returns the fields of a set that are at a path or inside of it.
func below(set *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	found := fieldpath.NewSet()
	set.Iterate(func(p fieldpath.Path) {
		if len(p) >= len(path) && p[:len(path)].Equals(path) {
			found.Insert(p.Copy())
		}
	})
	return found
}
