package kind

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/ownership"
)

// newOwnershipType returns the type with which package ownership compares the objects of a
// version. Client-side apply sends custom resources as JSON merge patches, so every list is
// atomic there. For server-side apply the schema says which lists are atomic.
func newOwnershipType(v *Version, models map[string]*spec.Schema) (*ownership.Type, error) {
	managed, err := ownership.NewView(models, definition.ModelName(v.GroupVersionKind()), ownership.ServerSide)
	if err != nil {
		return nil, err
	}
	return &ownership.Type{Applied: ownership.Untyped(), Managed: managed, Canonical: v.canonical, Default: v.withDefaults}, nil
}

// withDefaults returns a copy of an object with the defaults of the schema, normalized.
func (v *Version) withDefaults(obj map[string]any) (map[string]any, error) {
	out := runtime.DeepCopyJSON(obj)
	v.fill(out)
	return out, nil
}

// canonical decodes a last-applied configuration, prunes it by the schema of the version that it
// has, converts it to this version and normalizes it. It returns the paths of the fields that it pruned. It sets no
// defaults: a client does not own the fields that it leaves out.
func (v *Version) canonical(config []byte) (map[string]any, []string, error) {
	var obj map[string]any
	if err := utiljson.Unmarshal(config, &obj); err != nil || obj == nil {
		return nil, nil, err
	}
	u := &unstructured.Unstructured{Object: obj}
	from := v.Kind.Versions[u.GroupVersionKind().Version]
	if from == nil {
		from = v
	}
	var unknown []string
	if from.Compiled.Pruned {
		unknown = from.Compiled.Skeleton.PrunePaths(u.Object)
	}
	if from != v {
		converted, err := v.Kind.Convertor.safe.ConvertToVersion(u, v.GroupVersion())
		if err != nil {
			return nil, nil, err
		}
		u = &object.From(converted).Unstructured
	}
	v.Compiled.Skeleton.Normalize(u.Object)
	return u.Object, unknown, nil
}
