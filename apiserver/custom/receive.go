package custom

import (
	"errors"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
)

// receive completes an object that a client sent and returns the paths of unknown
// fields. Unknown fields of its metadata are removed too.
func (v *version) receive(u *object) ([]string, error) {
	if u.Object == nil {
		return nil, errors.New("an object is required")
	}
	owned := takeOwned(u.Object)
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(u.Object,
		objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		owned.restore(u.Object)
		return nil, err
	}
	if u.GroupVersionKind() == v.groupVersionKind() {
		paths, err := v.completePaths(u.Object)
		if err != nil {
			owned.restore(u.Object)
			return nil, err
		}
		for _, path := range paths {
			if len(path) < len("metadata.") || path[:len("metadata.")] != "metadata." {
				unknown = append(unknown, path)
			}
		}
	}
	if found {
		if err := objectmeta.SetObjectMeta(u.Object, meta); err != nil {
			return nil, err
		}
	}
	owned.restore(u.Object)
	if len(unknown) > 0 {
		v.resource.pruneOwners(u.Object)
	}
	v.resource.server.sets.share(u.Object)
	return unknown, nil
}

// ownedFields are the field sets of the managedFields of an object, by their index.
type ownedFields map[int]map[string]any

// takeOwned replaces the field sets of an object by empty ones, and returns them. They are
// most of the metadata of most objects, and a conversion to metav1.ObjectMeta and back does
// not change them. Field sets with other values than objects stay: the conversion may change
// numbers.
func takeOwned(obj map[string]any) ownedFields {
	var taken ownedFields
	for i, entry := range managedEntries(obj) {
		fields, ok := entry["fieldsV1"].(map[string]any)
		if !ok || !onlyObjects(fields) {
			continue
		}
		if taken == nil {
			taken = ownedFields{}
		}
		taken[i] = fields
		entry["fieldsV1"] = map[string]any{}
	}
	return taken
}

// restore puts the field sets back.
func (o ownedFields) restore(obj map[string]any) {
	if o == nil {
		return
	}
	for i, entry := range managedEntries(obj) {
		if fields, ok := o[i]; ok {
			entry["fieldsV1"] = fields
		}
	}
}

// managedEntries returns the managedFields of an object. An entry that is not an object is
// nil in the result.
func managedEntries(obj map[string]any) []map[string]any {
	metadata, _ := obj["metadata"].(map[string]any)
	items, _ := metadata["managedFields"].([]any)
	entries := make([]map[string]any, len(items))
	for i, item := range items {
		entries[i], _ = item.(map[string]any)
	}
	return entries
}

// onlyObjects reports whether all values below an object are objects.
func onlyObjects(obj map[string]any) bool {
	for _, v := range obj {
		child, ok := v.(map[string]any)
		if !ok || !onlyObjects(child) {
			return false
		}
	}
	return true
}
