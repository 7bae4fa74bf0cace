package served

import (
	"context"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/write"
	"holdfast.dev/holdfast/internal/apiserver/subresource"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/policy"
)

// Version serves one version of a resource.
type Version struct {
	*kind.Version
	resource *Resource
	config   *Config

	mu      sync.Mutex
	opened  bool
	openErr error

	// The following fields are set by open.
	store    *genericregistry.Store
	status   *subresource.Part
	scale    *subresource.Scale
	scopes   scopes
	warnings []string

	// OpenFor opens the writers.
	writers writers
}

// open compiles the definition and opens the store. Further calls return the result of
// the first one.
func (v *Version) open() error {
	if err := v.resource.Compile(); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.opened || v.openErr != nil {
		return v.openErr
	}
	if v.openErr = v.doOpen(); v.openErr == nil {
		v.opened = true
	}
	return v.openErr
}

// OpenFor opens the version for a verb. Only verbs that write need the whole definition.
func (v *Version) OpenFor(verb string) error {
	err := v.open()
	if err != nil || verb == "get" || verb == "list" || verb == "watch" {
		return err
	}
	if err := v.resource.CompileWrites(); err != nil {
		return err
	}
	return v.writers.open(v)
}

func (v *Version) doOpen() error {
	if err := v.openStore(); err != nil {
		return err
	}
	v.warnings = deprecation(v)
	v.scopes = newScopes(v)
	return nil
}

func (v *Version) openStore() error {
	gvk, names := v.GroupVersionKind(), v.resource.CRD.Status.AcceptedNames
	judge, selected := v.judge(), newSelection(v.Version)
	strategy := write.NewStrategy(judge, object.NewTyper(v.config.Scheme))
	table, err := tableconvertor.New(columnsOf(v.Spec))
	if err != nil { // an earlier release accepted columns that the library does not
		table = rest.NewDefaultTableConvertor(v.resource.GroupResource())
	}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return object.New(gvk) },
		NewListFunc:               func() runtime.Object { return object.NewList(v.ListKind()) },
		DefaultQualifiedResource:  v.resource.GroupResource(),
		SingularQualifiedResource: schema.GroupResource{Group: gvk.Group, Resource: names.Singular},
		PredicateFunc:             selected.predicate,
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		TableConvertor:            table,
		BeginUpdate:               judge.BeginUpdate,
		AfterDelete:               v.config.Ownership.AfterDelete,
	}
	if v.resource.GroupResource() == policy.Policies().GroupResource() {
		store.AfterCreate = func(obj runtime.Object, options *metav1.CreateOptions) { v.settle(obj, options.DryRun) }
		store.AfterUpdate = func(obj runtime.Object, options *metav1.UpdateOptions) { v.settle(obj, options.DryRun) }
	}
	restOptions := withCodec{v.config.RESTOptions, newCodec(v.Version, v.config.Format, v.config.Trees)}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: restOptions, AttrFunc: selected.attributes}); err != nil {
		return err
	}
	v.store = store
	if v.Compiled.HasStatus() {
		v.status = subresource.NewPart(store, write.StatusStrategy{Strategy: strategy})
	}
	if v.Compiled.Scale() != nil {
		v.scale = newScale(v.Version, store)
	}
	return nil
}

// settle waits until the server enforces a policy that was written.
func (v *Version) settle(obj runtime.Object, dryRun []string) {
	if !dryrun.IsDryRun(dryRun) {
		v.config.Policies.Settle(context.Background(), object.From(obj))
	}
}

// judge returns what decides about the writes of the version.
func (v *Version) judge() write.Judge {
	return write.Judge{
		Version: v.Version, Ownership: v.config.Ownership, Policies: v.config.Policies,
		ImmutabilityStatus: v.config.ImmutabilityStatus,
		Stored:             v.resource.storage().read,
	}
}

// read reads an object from etcd.
func (v *Version) read(ctx context.Context, name string) (*object.Object, error) {
	if err := v.open(); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	key, err := v.store.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	stored := &object.Object{}
	if err := v.store.Storage.Get(ctx, key, storage.GetOptions{}, stored); err != nil {
		return nil, storeerr.InterpretGetError(err, v.resource.GroupResource(), name)
	}
	return stored, nil
}

// Find returns an object as plugins of admission see it, and its key in the store. It must not be changed.
func (v *Version) Find(ctx context.Context, name string) (runtime.Object, string, error) {
	if err := v.open(); err != nil {
		return nil, "", apierrors.NewInternalError(err)
	}
	found, err := v.store.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, "", err
	}
	key, err := v.store.KeyFunc(ctx, name)
	return object.AsUnstructured(found), key, err
}

func (v *Version) isOpen() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.opened
}

func (v *Version) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.store != nil && v.store.DestroyFunc != nil {
		v.store.DestroyFunc()
	}
	v.config.Answers.Drop(v.Version)
	v.config.Trees.Drop(v.Version)
}

// columnsOf returns the columns that kubectl prints. The default is the age.
func columnsOf(spec *definition.CustomResourceDefinitionVersion) []apiextensionsv1.CustomResourceColumnDefinition {
	if len(spec.AdditionalPrinterColumns) > 0 {
		return spec.AdditionalPrinterColumns
	}
	return []apiextensionsv1.CustomResourceColumnDefinition{{
		Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp",
		Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
	}}
}
