package served

import (
	"context"
	"maps"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/write"
	"holdfast.dev/holdfast/internal/apiserver/subresource"
)

// newScale returns the scale subresource of a version. A write to the scale is an update
// of the object and is validated as such.
func newScale(v *kind.Version, store *genericregistry.Store) *subresource.Scale {
	paths := newScalePaths(v)
	return subresource.NewScale(subresource.ScaleConfig{
		Store: store, Version: v.GroupVersion(), Paths: replicaPaths(v.Kind),
		View: paths.view, SetReplicas: paths.setReplicas,
	})
}

// currentScale writes a scale by the definition that its version serves, see write.WhileCurrent.
type currentScale struct {
	*subresource.Scale
	version *Version
}

// Update implements rest.Updater.
func (s currentScale) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, forceCreate bool, options *metav1.UpdateOptions,
) (result runtime.Object, created bool, err error) {
	err = write.WhileCurrent(ctx, current{s.version}, s.version.resource.GroupResource(), func(ctx context.Context, _ error) (err error) {
		result, created, err = s.Scale.Update(ctx, name, info, create, update, forceCreate, options)
		return err
	})
	return result, created, err
}

// scalePaths holds the paths of the fields that the definition names for the scale:
// the wanted replicas, the running replicas and the label selector.
type scalePaths struct {
	version                   *kind.Version
	wanted, running, selector []string
}

func newScalePaths(v *kind.Version) scalePaths {
	spec := v.Compiled.Scale()
	paths := scalePaths{version: v, wanted: fieldsOf(spec.SpecReplicasPath), running: fieldsOf(spec.StatusReplicasPath)}
	if spec.LabelSelectorPath != nil && *spec.LabelSelectorPath != "" {
		paths.selector = fieldsOf(*spec.LabelSelectorPath)
	}
	return paths
}

// replicaPaths returns the path of the wanted replicas in every version. The path is
// empty for a version without a scale.
func replicaPaths(k *kind.Kind) managedfields.ResourcePathMappings {
	paths := managedfields.ResourcePathMappings{}
	for _, v := range k.Versions {
		var path fieldpath.Path
		if scale := v.Compiled.Scale(); scale != nil {
			for _, name := range fieldsOf(scale.SpecReplicasPath) {
				path = append(path, fieldpath.PathElement{FieldName: &name})
			}
		}
		paths[v.GroupVersion().String()] = path
	}
	return paths
}

// fieldsOf splits a simple JSON path: .spec.replicas.
func fieldsOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

// view returns the Scale of an object. A missing number of replicas is zero.
func (p scalePaths) view(obj runtime.Object) (*autoscalingv1.Scale, error) {
	u := object.From(obj)
	wanted, _, err := unstructured.NestedInt64(u.Object, p.wanted...)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	running, _, err := unstructured.NestedInt64(u.Object, p.running...)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	scale := &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: autoscalingv1.SchemeGroupVersion.String(), Kind: "Scale"},
		Spec:     autoscalingv1.ScaleSpec{Replicas: int32(wanted)},
		Status:   autoscalingv1.ScaleStatus{Replicas: int32(running)},
	}
	if p.selector != nil {
		if scale.Status.Selector, _, err = unstructured.NestedString(u.Object, p.selector...); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	return scale, nil
}

// setReplicas changes the wanted replicas. The object shares its values with the stored
// object, so setReplicas copies the maps above the field. If one of them was missing, the schema may have defaults for others of its
// fields, so the object conforms afterwards.
func (p scalePaths) setReplicas(obj runtime.Object, replicas int32) error {
	parent := object.From(obj).Object
	for _, name := range p.wanted[:len(p.wanted)-1] {
		child, isObject := parent[name].(map[string]any)
		if !isObject {
			break
		}
		child = maps.Clone(child)
		parent[name] = child
		parent = child
	}
	if err := unstructured.SetNestedField(object.From(obj).Object, int64(replicas), p.wanted...); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	p.version.Conform(object.From(obj).Object)
	return nil
}
