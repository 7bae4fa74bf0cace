package definition

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/skeleton"
	"holdfast.dev/holdfast/value"
)

// lostFields returns the fields that a rule of a served version protects and that the storage version does not have, as texts. Without
// conversion, the server cannot store such a field. The versions that old served or stored count, too: stored objects have their
// fields. It may be nil.
func lostFields(crd, old *CustomResourceDefinition) []string {
	storage := crd.Spec.Version(crd.Spec.StorageVersion())
	if storage == nil || !crd.Spec.ConvertsNothing() || !crd.Spec.Pruned(storage.Name) {
		return nil
	}
	var shape *skeleton.Skeleton
	var lost []string
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v == storage || !v.Served && !inUse(old, v.Name) {
			continue
		}
		marked, err := crd.marked(v)
		if err != nil || marked.Schema == nil {
			continue
		}
		marks, _ := immutability.Marks([]immutability.Version{{Name: v.Name, Schema: marked.Schema}})
		marks = append(marks, marked.Layers...)
		if len(marks) == 0 {
			continue
		}
		if shape == nil {
			s, _, err := storage.DecodeSchema()
			if err != nil {
				return nil // the caller reports it
			}
			shape = skeleton.Build(s)
		}
		for _, m := range marks {
			if m.SchemaNode(marked.Schema) != nil && !keeps(shape, m.Path.Steps()) {
				lost = append(lost, fmt.Sprintf("version %s lacks %s, which version %s protects (%s)", storage.Name, m.Path, v.Name, m.Marker.Word()))
			}
		}
	}
	return lost
}

// inUse reports whether a definition serves or stores a version.
func inUse(crd *CustomResourceDefinition, version string) bool {
	if crd == nil {
		return false
	}
	v := crd.Spec.Version(version)
	return v != nil && (v.Served || v.Storage)
}

// keeps reports whether a field stays when an object is pruned.
func keeps(shape *skeleton.Skeleton, steps []value.Step) bool {
	obj := map[string]any{}
	fill(obj, steps)
	shape.Prune(obj)
	return has(obj, steps)
}

// probe is the key that stands for every key of a map.
const probe = "a"

// fill adds a value for the path to an object, or to a list of one item.
func fill(obj map[string]any, steps []value.Step) {
	name := steps[0].Name
	if steps[0].Kind == value.AnyName {
		name = probe
	}
	obj[name] = filled(steps[1:])
}

func filled(steps []value.Step) any {
	if len(steps) > 0 && steps[0].Kind == value.AnyItem {
		return []any{filled(steps[1:])}
	}
	below := map[string]any{}
	if len(steps) > 0 {
		fill(below, steps)
	}
	return below
}

// has reports whether an object has the value that fill added.
func has(v any, steps []value.Step) bool {
	if len(steps) == 0 {
		return true
	}
	switch v := v.(type) {
	case []any:
		return len(v) == 1 && has(v[0], steps[1:])
	case map[string]any:
		name := steps[0].Name
		if steps[0].Kind == value.AnyName {
			name = probe
		}
		below, ok := v[name]
		return ok && has(below, steps[1:])
	}
	return false
}

// validateStorage reports protected fields that the write makes the server lose: it chooses another storage version, adds a rule, or
// removes the field from the storage version. A definition that was stored so before may stay so.
func (w Write) validateStorage(crd *CustomResourceDefinition) field.ErrorList {
	var errs field.ErrorList
	at := slices.IndexFunc(crd.Spec.Versions, func(v CustomResourceDefinitionVersion) bool { return v.Storage })
	known := w.lostBefore()
	for _, lost := range lostFields(crd, w.Old) {
		if !slices.Contains(known, lost) {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "versions").Index(at).Child("storage"),
				lost+": objects are stored in version "+crd.Spec.StorageVersion()+", so the field would be lost"))
		}
	}
	return errs
}

// lostBefore returns what the stored definition loses already.
func (w Write) lostBefore() []string {
	if w.Old == nil {
		return nil
	}
	return lostFields(w.Old, nil)
}
