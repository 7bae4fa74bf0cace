package apiserver

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/util/dryrun"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/apiserver/guard"
	"holdfast.dev/holdfast/definition"
)

// definitionResource is what CustomResourceDefinitions are called in paths.
var definitionResource = schema.GroupResource{Group: definition.GroupName, Resource: "customresourcedefinitions"}

// definitionREST is the registry of CustomResourceDefinitions. A write is
// answered when this server goes by it, so that the next request of the same
// client meets what it just wrote.
type definitionREST struct {
	*genericregistry.Store
	// settle waits until a written definition is in force here.
	settle func(ctx context.Context, written *definition.CustomResourceDefinition)
}

var (
	_ rest.StandardStorage    = &definitionREST{}
	_ rest.ShortNamesProvider = &definitionREST{}
	_ rest.CategoriesProvider = &definitionREST{}
)

// newDefinitionREST opens the registry of definitions and their status.
func newDefinitionREST(typer runtime.ObjectTyper, options generic.RESTOptionsGetter, g *guard.Guard) (*definitionREST, *statusREST, error) {
	s := definitionStrategy{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, guard: g}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &definition.CustomResourceDefinition{} },
		NewListFunc:               func() runtime.Object { return &definition.CustomResourceDefinitionList{} },
		DefaultQualifiedResource:  definitionResource,
		SingularQualifiedResource: schema.GroupResource{Group: definition.GroupName, Resource: "customresourcedefinition"},
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ResetFieldsStrategy:       s,
		AfterDelete:               g.AfterDelete,
		TableConvertor:            rest.NewDefaultTableConvertor(definitionResource),
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: options}); err != nil {
		return nil, nil, fmt.Errorf("open registry of %s: %w", definitionResource, err)
	}
	status := *store
	status.CreateStrategy, status.DeleteStrategy = nil, nil
	status.UpdateStrategy = definitionStatusStrategy{s}
	status.ResetFieldsStrategy = definitionStatusStrategy{s}
	base := &definitionREST{Store: store, settle: func(context.Context, *definition.CustomResourceDefinition) {}}
	return base, &statusREST{store: &status}, nil
}

// ShortNames implements rest.ShortNamesProvider.
func (*definitionREST) ShortNames() []string { return []string{"crd", "crds"} }

// Categories implements rest.CategoriesProvider.
func (*definitionREST) Categories() []string { return []string{"api-extensions"} }

// GetResetFields implements rest.ResetFieldsStrategy.
func (r *definitionREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.Store.GetResetFields()
}

// Create implements rest.Creater.
func (r *definitionREST) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	out, err := r.Store.Create(ctx, obj, validate, options)
	if err == nil && !dryrun.IsDryRun(options.DryRun) {
		r.settled(ctx, out)
	}
	return out, err
}

// Update implements rest.Updater.
func (r *definitionREST) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	forceCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	out, created, err := r.Store.Update(ctx, name, info, create, update, forceCreate, options)
	if err == nil && !dryrun.IsDryRun(options.DryRun) {
		r.settled(ctx, out)
	}
	return out, created, err
}

// Delete implements rest.GracefulDeleter. The first request marks the definition,
// so that its objects can be removed; it is gone when they are.
func (r *definitionREST) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	obj, err := r.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	if objectMeta(obj).GetDeletionTimestamp() != nil {
		return r.Store.Delete(ctx, name, validate, options)
	}
	marked, err := r.mark(ctx, name, validate, options)
	if err != nil {
		return nil, false, storageError(err, definitionResource, name)
	}
	if !dryrun.IsDryRun(options.DryRun) {
		r.settled(ctx, marked)
	}
	return marked, false, nil
}

// DeleteCollection implements rest.CollectionDeleter: each goes as by itself, with its
// objects.
func (r *definitionREST) DeleteCollection(
	ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, which *internalversion.ListOptions,
) (runtime.Object, error) {
	found, err := r.List(ctx, which)
	if err != nil {
		return nil, err
	}
	list, ok := found.(*definition.CustomResourceDefinitionList)
	if !ok {
		return nil, fmt.Errorf("unexpected list %T", found)
	}
	for i := range list.Items {
		if _, _, err := r.Delete(ctx, list.Items[i].Name, validate, options.DeepCopy()); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return found, nil
}

// mark sets what says that the definition and its objects are going.
func (r *definitionREST) mark(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, error) {
	key, err := r.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	var conditions storage.Preconditions
	if options.Preconditions != nil {
		conditions.UID, conditions.ResourceVersion = options.Preconditions.UID, options.Preconditions.ResourceVersion
	}
	out := r.NewFunc()
	err = r.Storage.GuaranteedUpdate(ctx, key, out, false, &conditions, simpleUpdate(func(current runtime.Object) (runtime.Object, error) {
		crd, ok := current.(*definition.CustomResourceDefinition)
		if !ok {
			return nil, fmt.Errorf("unexpected object %T", current)
		}
		if validate != nil {
			if err := validate(ctx, crd); err != nil {
				return nil, err
			}
		}
		now := metav1.Now()
		if crd.DeletionTimestamp == nil {
			crd.DeletionTimestamp = &now
		}
		if !slices.Contains(crd.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
			crd.Finalizers = append(crd.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
		}
		definition.SetCondition(crd, apiextensionsv1.CustomResourceDefinitionCondition{
			Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue,
			Reason:  "InstanceDeletionPending",
			Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
		}, now)
		return crd, nil
	}), dryrun.IsDryRun(options.DryRun), nil)
	return out, err
}

func (r *definitionREST) settled(ctx context.Context, obj runtime.Object) {
	if crd, ok := obj.(*definition.CustomResourceDefinition); ok {
		r.settle(ctx, crd)
	}
}
