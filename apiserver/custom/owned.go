package custom

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/ownership"
)

// newOwned is how package ownership sees the objects of a version: for
// client-side apply, which sends them as JSON merge patches, every list is one
// value; for server-side apply the schema says what is one.
func newOwned(v *version, models map[string]*spec.Schema) (*ownership.Type, error) {
	managed, err := ownership.NewView(models, modelName(v.groupVersionKind()), ownership.ServerSide)
	if err != nil {
		return nil, err
	}
	return &ownership.Type{Applied: ownership.Loose(), Managed: managed, Canonical: v.canonical}, nil
}

// canonical decodes a last-applied configuration: in this version, pruned and
// normalized, but never defaulted, since what it leaves out it does not own.
func (v *version) canonical(config []byte) (map[string]any, []string, error) {
	var obj map[string]any
	if err := utiljson.Unmarshal(config, &obj); err != nil || obj == nil {
		return nil, nil, err
	}
	u := &unstructured.Unstructured{Object: obj}
	from := v.resource.versions[u.GroupVersionKind().Version]
	if from == nil {
		from = v
	}
	var unknown []string
	if from.compiled.Pruned {
		unknown = from.compiled.Skeleton.PrunePaths(u.Object)
	}
	if from != v {
		converted, err := v.resource.convertor.safe.ConvertToVersion(u, v.groupVersion())
		if err != nil {
			return nil, nil, err
		}
		u = content(converted)
	}
	v.compiled.Skeleton.Normalize(u.Object)
	return u.Object, unknown, nil
}
