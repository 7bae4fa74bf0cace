package custom

import (
	"sync"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/apiserver/subresource"
	"holdfast.dev/holdfast/definition"
	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/ownership"
)

// version is one version of a resource.
type version struct {
	resource *resource
	name     string
	spec     *definition.CustomResourceDefinitionVersion

	// The following fields are set by resource.compile.
	compiled *definition.Compiled
	// validator checks values after the types were checked.
	validator validator
	// alsoMarked holds the other versions with markers that an update through this
	// version must obey too, see definition.AlsoMarked.
	alsoMarked []*version
	// protecting are their markers that protect values which this version does not have.
	protecting []*immutability.Policy

	// The following fields are set by resource.complete.

	// owned is the type that package ownership compares objects by.
	owned *ownership.Type
	// merged is the type that server-side apply merges objects by.
	merged mergeType
	// embeds reports whether the schema has embedded resources.
	embeds bool

	// lastCreated is the set of fields of the object that was created last, see createdFields.
	lastCreated atomic.Pointer[map[string]any]

	mu      sync.Mutex
	opened  bool
	openErr error

	// The following fields are set by open.
	store    *genericregistry.Store
	status   *subresource.Status
	scale    *subresource.Scale
	scopes   scopes
	warnings []string
}

// scopes are the request scopes of the endpoints of a version. The scope read is for GET,
// LIST and WATCH of the resource, see readScope.
type scopes struct{ main, read, status, scale *handlers.RequestScope }

func (v *version) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: v.resource.crd.Spec.Group, Version: v.name}
}

func (v *version) groupVersionKind() schema.GroupVersionKind {
	return v.groupVersion().WithKind(v.resource.kind.Kind)
}

// open compiles the definition and opens the store. Further calls return the result of
// the first one.
func (v *version) open() error {
	if err := v.resource.compile(); err != nil {
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

// openFor opens the version for a verb. Only verbs that write need the whole definition.
func (v *version) openFor(verb string) error {
	err := v.open()
	if err != nil || verb == "get" || verb == "list" || verb == "watch" {
		return err
	}
	return v.resource.complete()
}

func (v *version) doOpen() error {
	if err := v.openStore(); err != nil {
		return err
	}
	v.warnings = deprecation(v)
	var err error
	v.scopes, err = newScopes(v)
	return err
}

func (v *version) openStore() error {
	gvk, names := v.groupVersionKind(), v.resource.crd.Status.AcceptedNames
	s := newStrategy(v)
	table, err := tableconvertor.New(columnsOf(v.spec))
	if err != nil {
		table = rest.NewDefaultTableConvertor(v.resource.groupResource())
	}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return newObject(gvk) },
		NewListFunc:               func() runtime.Object { return newObjectList(gvk.GroupVersion().WithKind(names.ListKind)) },
		DefaultQualifiedResource:  v.resource.groupResource(),
		SingularQualifiedResource: schema.GroupResource{Group: gvk.Group, Resource: names.Singular},
		PredicateFunc:             s.predicate,
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ResetFieldsStrategy:       s,
		TableConvertor:            table,
		BeginUpdate:               v.compareUpdate,
		AfterDelete:               v.resource.server.config.Ownership.AfterDelete,
	}
	restOptions := withCodec{v.resource.server.config.RESTOptions, newCodec(v)}
	options := &generic.StoreOptions{RESTOptions: restOptions, AttrFunc: s.attributes}
	if err := store.CompleteWithOptions(options); err != nil {
		return err
	}
	v.store = store
	if v.compiled.HasStatus() {
		v.status = newStatus(v)
	}
	if v.compiled.Scale() != nil {
		v.scale = newScale(v)
	}
	return nil
}

func (v *version) isOpen() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.opened
}

func (v *version) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.store != nil && v.store.DestroyFunc != nil {
		v.store.DestroyFunc()
	}
	v.resource.server.texts.drop(v)
	v.resource.server.trees.drop(v)
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
