package subresource

import (
	"context"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/native/columns"
)

// ScaleConfig says how the objects of one kind are scaled.
type ScaleConfig struct {
	// Store holds the objects.
	Store *genericregistry.Store
	// Version is the version in which Store returns the objects.
	Version schema.GroupVersion
	// Paths are the paths of the wanted replica count, by version.
	Paths managedfields.ResourcePathMappings
	// View returns the replica counts and the selector of an object. The caller adds
	// the metadata.
	View func(obj runtime.Object) (*autoscalingv1.Scale, error)
	// SetReplicas changes the wanted replica count of an object.
	SetReplicas func(obj runtime.Object, replicas int32) error
	// ShowManagedFields puts managed fields into every Scale that a client or
	// admission sees. Kubernetes differs here between built-in kinds and custom
	// resources.
	ShowManagedFields bool
	// MatchUID refuses a Scale that names another UID than that of the object.
	// Kubernetes does this for built-in kinds only.
	MatchUID bool
}

// Scale serves the scale subresource of a kind: a view of the replica counts of an
// object, in a type that all scalable kinds share. A write to it is a write to the
// object.
type Scale struct{ config ScaleConfig }

var (
	_ rest.Patcher                  = &Scale{}
	_ rest.GroupVersionKindProvider = &Scale{}
	_ rest.TableConvertor           = &Scale{}
)

// NewScale returns the scale subresource of a kind.
func NewScale(config ScaleConfig) *Scale { return &Scale{config: config} }

// New implements rest.Storage.
func (*Scale) New() runtime.Object { return &autoscalingv1.Scale{} }

// Destroy implements rest.Storage. It does nothing: the store of the objects is
// destroyed once, by its owner.
func (*Scale) Destroy() {}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (*Scale) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

// Get implements rest.Getter.
func (r *Scale) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := r.config.Store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return r.view(obj)
}

// Update implements rest.Updater. A write to a scale never creates the object.
func (r *Scale) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	_ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	obj, _, err := r.config.Store.Update(ctx, name, &scaledObject{UpdatedObjectInfo: info, scale: r},
		r.createView(create), r.updateView(update), false, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := r.view(obj)
	return scale, false, err
}

// ConvertToTable implements rest.TableConvertor.
func (*Scale) ConvertToTable(_ context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	scale, ok := obj.(*autoscalingv1.Scale)
	if !ok {
		return nil, fmt.Errorf("unexpected object %T", obj)
	}
	printed, _ := columns.For(scale)
	table := &metav1.Table{Rows: []metav1.TableRow{{Cells: printed.Cells(scale, time.Now()), Object: runtime.RawExtension{Object: scale}}}}
	table.ResourceVersion = scale.ResourceVersion
	if wanted, ok := options.(*metav1.TableOptions); !ok || !wanted.NoHeaders {
		table.ColumnDefinitions = printed.Columns
	}
	return table, nil
}

// view returns the Scale of an object as clients and admission see it.
func (r *Scale) view(obj runtime.Object) (*autoscalingv1.Scale, error) {
	if r.config.ShowManagedFields {
		return r.managedView(obj)
	}
	return r.plainView(obj)
}

// plainView returns the Scale of an object without managed fields.
func (r *Scale) plainView(obj runtime.Object) (*autoscalingv1.Scale, error) {
	scale, err := r.config.View(obj)
	if err != nil {
		return nil, err
	}
	object, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	scale.ObjectMeta = metav1.ObjectMeta{
		Name: object.GetName(), Namespace: object.GetNamespace(), UID: object.GetUID(),
		ResourceVersion: object.GetResourceVersion(), CreationTimestamp: object.GetCreationTimestamp(),
	}
	return scale, nil
}

// managedView returns the Scale of an object with managed fields.
func (r *Scale) managedView(obj runtime.Object) (*autoscalingv1.Scale, error) {
	scale, err := r.plainView(obj)
	if err != nil {
		return nil, err
	}
	object, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	scale.ManagedFields, err = r.managers(object).OfScale()
	return scale, err
}

func (r *Scale) managers(object metav1.Object) ScaleManagers {
	return ScaleManagers{Entries: object.GetManagedFields(), Version: r.config.Version, Paths: r.config.Paths}
}

// createView and updateView show validating admission the Scale, not the object.
func (r *Scale) createView(next rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		scale, err := r.view(obj)
		if err != nil || next == nil {
			return err
		}
		return next(ctx, scale)
	}
}

func (r *Scale) updateView(next rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, newObj, oldObj runtime.Object) error {
		newScale, err := r.view(newObj)
		if err != nil || next == nil {
			return err
		}
		oldScale, err := r.view(oldObj)
		if err != nil {
			return err
		}
		return next(ctx, newScale, oldScale)
	}
}

// scaledObject turns an updated Scale into an updated object.
type scaledObject struct {
	rest.UpdatedObjectInfo
	scale *Scale
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (s *scaledObject) UpdatedObject(ctx context.Context, oldObj runtime.Object) (runtime.Object, error) {
	oldScale, err := s.scale.managedView(oldObj)
	if err != nil {
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
	if errs := validateScale(scale); len(errs) > 0 {
		return nil, apierrors.NewInvalid(autoscalingv1.SchemeGroupVersion.WithKind("Scale").GroupKind(), scale.Name, errs)
	}
	newObj := oldObj.DeepCopyObject()
	object, err := meta.Accessor(newObj)
	if err != nil {
		return nil, err
	}
	if s.scale.config.MatchUID && scale.UID != "" && scale.UID != object.GetUID() {
		return nil, apierrors.NewConflict(s.scale.config.Store.DefaultQualifiedResource, object.GetName(),
			fmt.Errorf("precondition failed: UID in precondition: %v, UID in object meta: %v", scale.UID, object.GetUID()))
	}
	if err := s.scale.config.SetReplicas(newObj, scale.Spec.Replicas); err != nil {
		return nil, err
	}
	if scale.ResourceVersion != "" {
		// The store compares the version of the object: a stale Scale is a conflict.
		object.SetResourceVersion(scale.ResourceVersion)
	}
	managers, err := s.scale.managers(object).OfObject(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	object.SetManagedFields(managers)
	return newObj, nil
}

func validateScale(scale *autoscalingv1.Scale) field.ErrorList {
	if scale.Spec.Replicas >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas, "must be greater than or equal to 0")}
}
