package custom

import (
	"context"
	"fmt"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/apiserver/scaled"
)

// scaleREST serves the scale of objects: a view of their replica counts, at the
// paths that the definition names. An update of it is one of the object, and is
// judged as such.
type scaleREST struct {
	version  *version
	wanted   []string
	running  []string
	selector []string
	paths    managedfields.ResourcePathMappings
}

var (
	_ rest.Patcher                  = &scaleREST{}
	_ rest.GroupVersionKindProvider = &scaleREST{}
)

func newScaleREST(v *version) *scaleREST {
	spec := v.compiled.Scale()
	r := &scaleREST{
		version: v, wanted: fieldsOf(spec.SpecReplicasPath), running: fieldsOf(spec.StatusReplicasPath),
		paths: managedfields.ResourcePathMappings{},
	}
	if spec.LabelSelectorPath != nil && *spec.LabelSelectorPath != "" {
		r.selector = fieldsOf(*spec.LabelSelectorPath)
	}
	for _, other := range v.served.versions {
		var path fieldpath.Path
		if s := other.compiled.Scale(); s != nil {
			for _, name := range fieldsOf(s.SpecReplicasPath) {
				path = append(path, fieldpath.PathElement{FieldName: &name})
			}
		}
		r.paths[other.groupVersion().String()] = path
	}
	return r
}

// fieldsOf splits a simple JSON path: .spec.replicas.
func fieldsOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

// New implements rest.Storage.
func (*scaleREST) New() runtime.Object { return &autoscalingv1.Scale{} }

// Destroy implements rest.Storage; the store is closed once, with its version.
func (*scaleREST) Destroy() {}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (*scaleREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

// Get implements rest.Getter.
func (r *scaleREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := r.version.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return r.view(obj)
}

// Update implements rest.Updater.
func (r *scaleREST) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	_ rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	_ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	obj, _, err := r.version.store.Update(ctx, name, &scaledObject{UpdatedObjectInfo: info, rest: r},
		rest.ValidateAllObjectFunc, r.updateView(update), false, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := r.view(obj)
	return scale, false, err
}

// updateView shows validating admission the scale, not the object.
func (r *scaleREST) updateView(next rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, obj, old runtime.Object) error {
		newScale, err := r.view(obj)
		if err != nil || next == nil {
			return err
		}
		oldScale, err := r.view(old)
		if err != nil {
			return err
		}
		return next(ctx, newScale, oldScale)
	}
}

// view is the scale of an object. A count that is not there is none.
func (r *scaleREST) view(obj runtime.Object) (*autoscalingv1.Scale, error) {
	u := content(obj)
	wanted, _, err := unstructured.NestedInt64(u.Object, r.wanted...)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	running, _, err := unstructured.NestedInt64(u.Object, r.running...)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	scale := &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: autoscalingv1.SchemeGroupVersion.String(), Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{
			Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(),
			ResourceVersion: u.GetResourceVersion(), CreationTimestamp: u.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(wanted)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(running)},
	}
	if r.selector != nil {
		if scale.Status.Selector, _, err = unstructured.NestedString(u.Object, r.selector...); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	return scale, nil
}

func (r *scaleREST) managers(u *object) scaled.Managers {
	return scaled.Managers{Entries: u.GetManagedFields(), Version: r.version.groupVersion(), Paths: r.paths}
}

// scaledObject turns an updated scale into an updated object.
type scaledObject struct {
	rest.UpdatedObjectInfo
	rest *scaleREST
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (s *scaledObject) UpdatedObject(ctx context.Context, oldObj runtime.Object) (runtime.Object, error) {
	u := content(oldObj).DeepCopy()
	oldScale, err := s.rest.view(u)
	if err != nil {
		return nil, err
	}
	if oldScale.ManagedFields, err = s.rest.managers(u).OfScale(); err != nil {
		return nil, err
	}
	updated, err := s.UpdatedObjectInfo.UpdatedObject(ctx, oldScale)
	if err != nil {
		return nil, err
	}
	scale, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected a Scale, got %T", updated))
	}
	if scale.Spec.Replicas < 0 {
		return nil, apierrors.NewInvalid(autoscalingv1.SchemeGroupVersion.WithKind("Scale").GroupKind(), scale.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas, "must be greater than or equal to 0"),
		})
	}
	if err := unstructured.SetNestedField(u.Object, int64(scale.Spec.Replicas), s.rest.wanted...); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if scale.ResourceVersion != "" {
		// A stale scale is a conflict of the object, which carries the version.
		u.SetResourceVersion(scale.ResourceVersion)
	}
	managers, err := s.rest.managers(u).OfObject(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	u.SetManagedFields(managers)
	return u, nil
}
