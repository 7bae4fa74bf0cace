package builtin

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/disclosure"
	"holdfast.dev/holdfast/internal/native"
)

// kindREST is the registry of one kind, with the short names and categories that
// kubectl reads from discovery.
type kindREST struct {
	*genericregistry.Store
	kind native.Kind
}

var (
	_ rest.StandardStorage    = &kindREST{}
	_ rest.ShortNamesProvider = &kindREST{}
	_ rest.CategoriesProvider = &kindREST{}
)

// ShortNames implements rest.ShortNamesProvider.
func (r *kindREST) ShortNames() []string { return r.kind.ShortNames }

// Categories implements rest.CategoriesProvider.
func (r *kindREST) Categories() []string { return r.kind.Categories }

// Update implements rest.Updater. Its errors have no values that the client may not read.
func (r *kindREST) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, validateCreate rest.ValidateObjectFunc,
	validateUpdate rest.ValidateObjectUpdateFunc, forceCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return r.Store.Update(ctx, name, disclosure.Patched(r.kind.GroupResource(), info), validateCreate, validateUpdate, forceCreate, options)
}

// DeleteCollection implements rest.CollectionDeleter. It leaves out the objects that must be kept.
func (r *kindREST) DeleteCollection(
	ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, which *internalversion.ListOptions,
) (runtime.Object, error) {
	collection := keep.NewCollection(r.kind.GroupResource(), options, which)
	found, err := r.Store.DeleteCollection(ctx, collection.Skip(validate), options, which)
	return collection.Result(found, err)
}

// newKindREST opens the registry of a kind.
func newKindREST(s strategy, options generic.RESTOptionsGetter) (*kindREST, error) {
	kind := s.kind
	resource := kind.GroupResource()
	store := &genericregistry.Store{
		NewFunc:                   kind.New,
		NewListFunc:               kind.NewList,
		DefaultQualifiedResource:  resource,
		SingularQualifiedResource: schema.GroupResource{Group: resource.Group, Resource: strings.ToLower(kind.Name())},
		PredicateFunc: func(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
			predicate := storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributes(kind)}
			if kind.Indexed != "" {
				predicate.IndexFields = []string{kind.Indexed}
			}
			return predicate
		},
		CreateStrategy:      s,
		UpdateStrategy:      s,
		DeleteStrategy:      s,
		ResetFieldsStrategy: s,
		TableConvertor:      newTableConvertor(kind),
		AfterDelete:         s.ownership.AfterDelete,
		ReturnDeletedObject: kind.ReturnDeleted,
	}
	storeOptions := &generic.StoreOptions{RESTOptions: options, AttrFunc: attributes(kind)}
	if kind.Indexed != "" {
		valueOf := func(obj runtime.Object) string { return kind.Selectable(obj)[kind.Indexed] }
		storeOptions.TriggerFunc = storage.IndexerFuncs{kind.Indexed: valueOf}
		storeOptions.Indexers = &cache.Indexers{storage.FieldIndex(kind.Indexed): func(obj any) ([]string, error) {
			object, ok := obj.(runtime.Object)
			if !ok {
				return nil, fmt.Errorf("index %s: not an object: %T", resource, obj)
			}
			return []string{valueOf(object)}, nil
		}}
	}
	if err := store.CompleteWithOptions(storeOptions); err != nil {
		return nil, fmt.Errorf("open registry of %s: %w", resource, err)
	}
	return &kindREST{Store: store, kind: kind}, nil
}

// attributes returns the labels and fields that selectors match: labels, name,
// namespace and the fields that the kind declares.
func attributes(kind native.Kind) storage.AttrFunc {
	return func(obj runtime.Object) (labels.Set, fields.Set, error) {
		meta := objectMeta(obj)
		set := fields.Set{}
		if kind.Selectable != nil {
			set = kind.Selectable(obj)
		}
		set["metadata.name"] = meta.GetName()
		if kind.Scope == native.Namespaced {
			set["metadata.namespace"] = meta.GetNamespace()
		}
		return labels.Set(meta.GetLabels()), set, nil
	}
}
