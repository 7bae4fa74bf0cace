package definitions

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
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/util/dryrun"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/apiserver/gate"
	"holdfast.dev/holdfast/internal/apiserver/policies"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/apiserver/subresource"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/protection"
)

// Resource is the resource of CustomResourceDefinitions.
var Resource = definition.Resource

// Versions are the API versions that serve definitions, the preferred one first.
var Versions = []schema.GroupVersion{
	{Group: definition.GroupName, Version: definition.V1},
	{Group: definition.GroupName, Version: definition.V1beta1},
}

// Registry serves CustomResourceDefinitions. It answers a write only after this server uses
// the new definition, so that the definition applies to the next request of the same
// client.
type Registry struct {
	*genericregistry.Store
	content Content
	keep    Keep
	gate    *gate.Gate
}

// Content serves the objects of definitions.
type Content interface {
	// Settle waits until this server serves custom resources by a definition that was just written.
	Settle(ctx context.Context, written *definition.CustomResourceDefinition)
	// IsClosed reports whether a condition of a definition that closes its kind is in force.
	IsClosed(crd *definition.CustomResourceDefinition) bool
}

// Keep refuses to delete definitions.
type Keep interface {
	// CheckDefinition judges a definition without its objects.
	CheckDefinition(ctx context.Context, crd runtime.Object) error
	// CheckContent judges the objects of a definition. The resource has the storage version.
	CheckContent(ctx context.Context, crd runtime.Object, resource schema.GroupVersionResource) error
}

var (
	_ rest.StandardStorage    = &Registry{}
	_ rest.ShortNamesProvider = &Registry{}
	_ rest.CategoriesProvider = &Registry{}
)

// Open opens the store of definitions, and the status subresource on the same store.
// ownership and rules may be nil.
func Open(
	typer runtime.ObjectTyper, options generic.RESTOptionsGetter, ownership *fieldownership.Checker, rules *policies.Rules,
) (*genericregistry.Store, *subresource.Status, error) {
	s := strategy{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, ownership: ownership, policies: rules}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &definition.CustomResourceDefinition{} },
		NewListFunc:               func() runtime.Object { return &definition.CustomResourceDefinitionList{} },
		DefaultQualifiedResource:  Resource,
		SingularQualifiedResource: schema.GroupResource{Group: definition.GroupName, Resource: "customresourcedefinition"},
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ResetFieldsStrategy:       s,
		AfterDelete:               ownership.AfterDelete,
		TableConvertor:            rest.NewDefaultTableConvertor(Resource),
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: options}); err != nil {
		return nil, nil, fmt.Errorf("open registry of %s: %w", Resource, err)
	}
	return store, subresource.NewStatus(store, statusStrategy{s}), nil
}

// NewRegistry returns the registry of definitions on their store.
func NewRegistry(store *genericregistry.Store, content Content, keep Keep, g *gate.Gate) *Registry {
	return &Registry{Store: store, content: content, keep: keep, gate: g}
}

// ShortNames implements rest.ShortNamesProvider.
func (*Registry) ShortNames() []string { return []string{"crd", "crds"} }

// Categories implements rest.CategoriesProvider.
func (*Registry) Categories() []string { return []string{"api-extensions"} }

// GetResetFields implements rest.ResetFieldsStrategy.
func (r *Registry) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.Store.GetResetFields()
}

// Create implements rest.Creater.
func (r *Registry) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	dryRun := dryrun.IsDryRun(options.DryRun)
	review := r.gate.Review(dryRun)
	out, err := r.Store.Create(ctx, obj, judgedCreate(review, validate), options)
	if err != nil {
		return nil, err
	}
	review.Announce(ctx)
	if !dryRun {
		r.settled(ctx, out)
	}
	return out, nil
}

// Update implements rest.Updater.
func (r *Registry) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	forceCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	dryRun := dryrun.IsDryRun(options.DryRun)
	review := r.gate.Review(dryRun)
	g := gated{registry: r, review: review, name: name, info: info, create: judgedCreate(review, create), update: update, options: options}
	out, created, err := g.store(ctx, forceCreate)
	if err != nil {
		return nil, false, err
	}
	g.review.Announce(ctx)
	if !dryRun {
		r.settled(ctx, out)
	}
	return out, created, nil
}

// Delete implements rest.GracefulDeleter. The first request marks the definition as
// terminating. A controller then deletes its objects; the definition is removed when
// the last of them is removed. While the server reads the objects that may keep the definition, no server creates
// further ones.
func (r *Registry) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	obj, err := r.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if !ok {
		return nil, false, fmt.Errorf("unexpected object %T", obj)
	}
	if crd.DeletionTimestamp != nil {
		return r.Store.Delete(ctx, name, validate, options)
	}
	dryRun := dryrun.IsDryRun(options.DryRun)
	if dryRun {
		ctx = protection.DryRun(ctx)
	}
	marked, err := r.terminate(ctx, crd, validate, options)
	if keep.IsRefusal(err) {
		protection.Refuse(ctx, protection.KeptObject)
	}
	if err != nil {
		return nil, false, storage.Error(err, Resource, name)
	}
	if !dryRun {
		r.settled(ctx, marked)
	}
	return marked, false, nil
}

// terminate marks a definition as terminating, unless it must be kept.
func (r *Registry) terminate(
	ctx context.Context, crd *definition.CustomResourceDefinition, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (_ runtime.Object, err error) {
	if err := r.keep.CheckDefinition(ctx, crd); err != nil {
		return nil, err
	}
	var m mark
	if options.Preconditions != nil {
		m.conditions.UID, m.conditions.ResourceVersion = options.Preconditions.UID, options.Preconditions.ResourceVersion
	}
	m.dryRun = dryrun.IsDryRun(options.DryRun)
	resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: storageVersion(crd), Resource: crd.Spec.Names.Plural}
	// Most refusals need no closing. It would change the definition, and a garbage collector that may not delete it would try again
	// after each change.
	if err := r.keep.CheckContent(ctx, crd, resource); err != nil {
		return nil, err
	}
	if !m.dryRun {
		if m.closing, err = r.close(ctx, crd.Name, &m.conditions, Closed); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				r.open(ctx, crd.Name, m.closing)
			}
		}()
		if m.conditions.ResourceVersion != nil {
			m.conditions.ResourceVersion = &m.closing.version
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, m.closing.expires)
		defer cancel()
		if err := r.keep.CheckContent(ctx, crd, resource); err != nil {
			return nil, err
		}
	}
	return r.mark(ctx, crd.Name, validate, m)
}

func storageVersion(crd *definition.CustomResourceDefinition) string {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Storage {
			return crd.Spec.Versions[i].Name
		}
	}
	return ""
}

// DeleteCollection implements rest.CollectionDeleter. It deletes every definition as
// Delete does, with its objects, and leaves out those that must be kept.
func (r *Registry) DeleteCollection(
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
	collection := keep.NewCollection(Resource, options, which)
	for i := range list.Items {
		_, _, err := r.Delete(ctx, list.Items[i].Name, validate, options.DeepCopy())
		switch {
		case keep.IsRefusal(err):
			collection.Leave(&list.Items[i], err)
		case err != nil && !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	return collection.Result(found, nil)
}

// mark says how a definition is marked as terminating.
type mark struct {
	conditions apistorage.Preconditions
	dryRun     bool
	// closing is nil in a dry run.
	closing *closing
}

// mark sets the deletion timestamp, the finalizer and the condition of a definition
// that is terminating.
func (r *Registry) mark(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, m mark,
) (runtime.Object, error) {
	key, err := r.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	out := r.NewFunc()
	terminate := storage.Update(func(current runtime.Object) (runtime.Object, error) {
		crd, ok := current.(*definition.CustomResourceDefinition)
		if !ok {
			return nil, fmt.Errorf("unexpected object %T", current)
		}
		if validate != nil {
			if err := validate(ctx, crd); err != nil {
				return nil, err
			}
		}
		if err := m.closing.end(crd); err != nil {
			return nil, err
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
	})
	err = r.Storage.GuaranteedUpdate(ctx, key, out, false, &m.conditions, terminate, m.dryRun, nil)
	return out, err
}

func (r *Registry) settled(ctx context.Context, obj runtime.Object) {
	if crd, ok := obj.(*definition.CustomResourceDefinition); ok {
		r.content.Settle(ctx, crd)
	}
}
