package custom

import (
	"maps"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/apiserver/subresource"
)

// newScale returns the scale subresource of a version. A write to the scale is an update
// of the object and is validated as such.
func newScale(v *version) *subresource.Scale {
	paths := newScalePaths(v)
	return subresource.NewScale(subresource.ScaleConfig{
		Store: v.store, Version: v.groupVersion(), Paths: replicaPaths(v.resource),
		View: paths.view, SetReplicas: paths.setReplicas,
	})
}

// scalePaths holds the paths of the fields that the definition names for the scale:
// the wanted replicas, the running replicas and the label selector.
type scalePaths struct{ wanted, running, selector []string }

func newScalePaths(v *version) scalePaths {
	spec := v.compiled.Scale()
	paths := scalePaths{wanted: fieldsOf(spec.SpecReplicasPath), running: fieldsOf(spec.StatusReplicasPath)}
	if spec.LabelSelectorPath != nil && *spec.LabelSelectorPath != "" {
		paths.selector = fieldsOf(*spec.LabelSelectorPath)
	}
	return paths
}

// replicaPaths returns the path of the wanted replicas in every version. The path is
// empty for a version without a scale.
func replicaPaths(r *resource) managedfields.ResourcePathMappings {
	paths := managedfields.ResourcePathMappings{}
	for _, v := range r.versions {
		var path fieldpath.Path
		if scale := v.compiled.Scale(); scale != nil {
			for _, name := range fieldsOf(scale.SpecReplicasPath) {
				path = append(path, fieldpath.PathElement{FieldName: &name})
			}
		}
		paths[v.groupVersion().String()] = path
	}
	return paths
}

// fieldsOf splits a simple JSON path: .spec.replicas.
func fieldsOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

// view returns the Scale of an object. A missing number of replicas is zero.
func (p scalePaths) view(obj runtime.Object) (*autoscalingv1.Scale, error) {
	u := content(obj)
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
// object, so setReplicas copies the maps above the field.
func (p scalePaths) setReplicas(obj runtime.Object, replicas int32) error {
	parent := content(obj).Object
	for _, name := range p.wanted[:len(p.wanted)-1] {
		child, isObject := parent[name].(map[string]any)
		if !isObject {
			break
		}
		child = maps.Clone(child)
		parent[name] = child
		parent = child
	}
	if err := unstructured.SetNestedField(content(obj).Object, int64(replicas), p.wanted...); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}
