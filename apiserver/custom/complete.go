package custom

import "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"

// complete changes an object of this version, in place, to what a GET returns. It
// prunes unknown fields, removes nulls that the schema does not allow, sets defaults and
// normalizes. A second call changes nothing.
func (v *version) complete(obj map[string]any) {
	if v.compiled.Pruned && v.compiled.Skeleton.Prune(obj) {
		v.resource.pruneOwners(obj)
	}
	v.fill(obj)
}

// completePaths is complete for an object that a client sent. It returns the paths of
// the fields that the schema does not have.
func (v *version) completePaths(obj map[string]any) ([]string, error) {
	var unknown []string
	if v.compiled.Pruned {
		unknown = v.compiled.Skeleton.PrunePaths(obj)
	}
	if v.embeds {
		err, paths := objectmeta.CoerceWithOptions(nil, obj, v.compiled.Structural, false,
			objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
		if err != nil {
			return nil, err
		}
		unknown = append(unknown, paths...)
	}
	v.fill(obj)
	return unknown, nil
}

func (v *version) fill(obj map[string]any) {
	v.compiled.Skeleton.Default(obj)
	v.compiled.Skeleton.Normalize(obj)
}
