package apiserver

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/apiserver/scaled"
	"holdfast.dev/holdfast/native"
)

// scaleREST serves the scale subresource of a kind: a view of the object's
// replica counts under a type that all scalable kinds share.
type scaleREST struct {
	store *genericregistry.Store
	kind  native.Kind
}

var (
	_ rest.Patcher                  = &scaleREST{}
	_ rest.GroupVersionKindProvider = &scaleREST{}
	_ rest.TableConvertor           = &scaleREST{}
)

// New implements rest.Storage.
func (*scaleREST) New() runtime.Object { return &autoscalingv1.Scale{} }

// Destroy implements rest.Storage; the kind's own store is destroyed once.
func (*scaleREST) Destroy() {}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (*scaleREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

// Get implements rest.Getter.
func (r *scaleREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := r.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return r.view(obj)
}

// Update implements rest.Updater.
func (r *scaleREST) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	_ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	obj, _, err := r.store.Update(ctx, name, &scaledObjectInfo{UpdatedObjectInfo: info, rest: r},
		r.createView(create), r.updateView(update), false, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := r.view(obj)
	return scale, false, err
}

// ConvertToTable implements rest.TableConvertor.
func (r *scaleREST) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return rest.NewDefaultTableConvertor(r.kind.GroupResource()).ConvertToTable(ctx, obj, options)
}

// view is the scale of an object.
func (r *scaleREST) view(obj runtime.Object) (*autoscalingv1.Scale, error) {
	selector, err := r.kind.Scale.Selector(obj)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("selector of %s: %w", r.kind.Name(), err))
	}
	meta := objectMeta(obj)
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: meta.GetName(), Namespace: meta.GetNamespace(), UID: meta.GetUID(),
			ResourceVersion: meta.GetResourceVersion(), CreationTimestamp: meta.GetCreationTimestamp(),
		},
		Status: autoscalingv1.ScaleStatus{Replicas: r.kind.Scale.Running(obj), Selector: selector},
	}
	if wanted := *r.kind.Scale.Wanted(obj); wanted != nil {
		scale.Spec.Replicas = *wanted
	}
	managers, err := r.managers(obj).OfScale()
	scale.ManagedFields = managers
	return scale, err
}

// managers translates who owns spec.replicas between the object and its scale.
func (r *scaleREST) managers(obj runtime.Object) scaled.Managers {
	return scaled.Managers{
		Entries: objectMeta(obj).GetManagedFields(), Version: r.kind.GroupVersion,
		Paths: managedfields.ResourcePathMappings{r.kind.GroupVersion.String(): fieldpath.MakePathOrDie("spec", "replicas")},
	}
}

// createView and updateView show validating admission the scale, not the object.
func (r *scaleREST) createView(next rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		scale, err := r.view(obj)
		if err != nil || next == nil {
			return err
		}
		return next(ctx, scale)
	}
}

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

// scaledObjectInfo turns an updated scale into an updated object.
type scaledObjectInfo struct {
	rest.UpdatedObjectInfo
	rest *scaleREST
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (i *scaledObjectInfo) UpdatedObject(ctx context.Context, oldObj runtime.Object) (runtime.Object, error) {
	kind := i.rest.kind
	oldScale, err := i.rest.view(oldObj)
	if err != nil {
		return nil, err
	}
	updated, err := i.UpdatedObjectInfo.UpdatedObject(ctx, oldScale)
	if err != nil {
		return nil, err
	}
	scale, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected a Scale, got %T", updated))
	}
	if errs := validateScale(scale); len(errs) > 0 {
		return nil, apierrors.NewInvalid(autoscalingv1.SchemeGroupVersion.WithKind("Scale").GroupKind(), scale.Name, errs)
	}
	meta := objectMeta(oldObj)
	if scale.UID != "" && scale.UID != meta.GetUID() {
		return nil, apierrors.NewConflict(kind.GroupResource(), meta.GetName(),
			fmt.Errorf("precondition failed: UID in precondition: %v, UID in object meta: %v", scale.UID, meta.GetUID()))
	}
	newObj := oldObj.DeepCopyObject()
	*kind.Scale.Wanted(newObj) = &scale.Spec.Replicas
	// A stale scale is a conflict of the object, which carries the version.
	objectMeta(newObj).SetResourceVersion(scale.ResourceVersion)
	managers, err := i.rest.managers(newObj).OfObject(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	objectMeta(newObj).SetManagedFields(managers)
	return newObj, nil
}

func validateScale(scale *autoscalingv1.Scale) field.ErrorList {
	if scale.Spec.Replicas >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas, "must be greater than or equal to 0")}
}
