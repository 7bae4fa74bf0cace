package kind

import (
	"errors"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"

	"holdfast.dev/holdfast/internal/apiserver/custom/fieldset"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// Receive lets an object that a client sent conform, and returns the paths of unknown fields. It also removes unknown fields of the
// metadata. It does not change the content of an object of another kind, which is refused later.
func (v *Version) Receive(u *object.Object) ([]string, error) {
	if u.Object == nil {
		return nil, errors.New("an object is required")
	}
	sets := takeSets(u.Object)
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(u.Object,
		objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		sets.restore(u.Object)
		return nil, err
	}
	if u.GroupVersionKind() == v.GroupVersionKind() {
		paths, err := v.conformPaths(u.Object)
		if err != nil {
			sets.restore(u.Object)
			return nil, err
		}
		for _, path := range paths {
			if !strings.HasPrefix(path, "metadata.") {
				unknown = append(unknown, path)
			}
		}
	}
	if found {
		err = objectmeta.SetObjectMeta(u.Object, meta)
	}
	sets.restore(u.Object)
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		v.Kind.pruneManagedFields(u.Object)
	}
	v.Kind.config.Sets.Share(u.Object)
	return unknown, nil
}

// takenSets are the field sets of the managedFields of an object, by their index.
type takenSets map[int]map[string]any

// takeSets replaces the field sets of an object by empty ones, and returns them. They are most of the metadata of most objects, and a
// conversion to metav1.ObjectMeta and back does not change them. Field sets with other values than objects stay: the conversion may
// change numbers.
func takeSets(obj map[string]any) takenSets {
	var taken takenSets
	for i, entry := range fieldset.Entries(obj) {
		fields, ok := entry["fieldsV1"].(map[string]any)
		if !ok || !fieldset.OnlyObjects(fields) {
			continue
		}
		if taken == nil {
			taken = takenSets{}
		}
		taken[i] = fields
		entry["fieldsV1"] = map[string]any{}
	}
	return taken
}

// restore puts the field sets back.
func (s takenSets) restore(obj map[string]any) {
	if s == nil {
		return
	}
	for i, entry := range fieldset.Entries(obj) {
		if fields, ok := s[i]; ok {
			entry["fieldsV1"] = fields
		}
	}
}
