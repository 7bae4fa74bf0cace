package kind

import "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"

// Conform changes an object of this version, in place, to what a GET returns. A second call changes nothing.
func (v *Version) Conform(obj map[string]any) {
	if v.Compiled.Pruned && v.Compiled.Skeleton.Prune(obj) {
		v.Kind.pruneManagedFields(obj)
	}
	v.fill(obj)
}

// conformPaths is Conform for an object that a client sent. It returns the paths of the fields that the schema does not have.
func (v *Version) conformPaths(obj map[string]any) ([]string, error) {
	var unknown []string
	if v.Compiled.Pruned {
		unknown = v.Compiled.Skeleton.PrunePaths(obj)
	}
	if v.Compiled.Embeds() {
		err, paths := objectmeta.CoerceWithOptions(nil, obj, v.Compiled.Structural, false,
			objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
		if err != nil {
			return nil, err
		}
		unknown = append(unknown, paths...)
	}
	v.fill(obj)
	return unknown, nil
}

func (v *Version) fill(obj map[string]any) {
	v.Compiled.Skeleton.Default(obj)
	v.Compiled.Skeleton.Normalize(obj)
}
