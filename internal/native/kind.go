package native

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope is the scope of a kind: namespaced or cluster-scoped.
type Scope int

const (
	// Namespaced is the scope of kinds with objects in namespaces. It is the zero value,
	// because most kinds are namespaced.
	Namespaced Scope = iota
	// Cluster is the scope of kinds with objects outside of namespaces.
	Cluster
)

// Dependents is what the deletion of an object does to the objects that it owns, if the
// request has no propagationPolicy.
type Dependents int

const (
	// DeleteDependents deletes the dependents.
	DeleteDependents Dependents = iota
	// OrphanDependents keeps the dependents and removes their owner references. It is the
	// default for ReplicationController and Job.
	OrphanDependents
	// NoDependents is for kinds that own no other objects.
	NoDependents
)

// Kind describes one built-in kind. The zero value of an optional field means that the kind
// behaves like most others.
type Kind struct {
	// GroupVersion is the version in which the kind is served and stored.
	GroupVersion schema.GroupVersion
	// OtherVersions are further versions, possibly of other groups, in which the same
	// objects are served.
	OtherVersions []schema.GroupVersion
	// Resource is the plural name in URLs.
	Resource string
	// ShortNames are the short names of the resource, such as "deploy".
	ShortNames []string
	// Categories are the groups of resources that contain this one, such as "all".
	Categories []string
	// Scope is the scope of the kind.
	Scope Scope

	// Object and List are empty values of the Go types. They must not be changed.
	Object runtime.Object
	List   runtime.Object

	// Status is true if the kind has a status subresource.
	Status bool
	// StatusKeeps lists the fields of metadata that a write to the status cannot change,
	// such as "labels". For most kinds it is empty: such a write may change everything in
	// metadata that a write to the main resource may change.
	StatusKeeps []string
	// Generation is true if metadata.generation counts the changes of all fields but
	// metadata and status.
	Generation bool
	// Counts reports whether the generation counts a change of metadata. Nil means that it
	// counts none.
	Counts func(newMeta, oldMeta metav1.Object) bool
	// Scale is set if the kind has a scale subresource.
	Scale *Scale
	// CreateOnUpdate is true if a PUT creates the object if it does not exist.
	CreateOnUpdate bool
	// ConditionalUpdate is true if every PUT needs a resourceVersion.
	ConditionalUpdate bool
	// ReturnDeleted is true if the response to a DELETE is the object instead of a Status.
	ReturnDeleted bool

	// Selectable returns the fields that a field selector may use, in addition to
	// metadata.name and metadata.namespace. Nil means that there are none.
	Selectable func(obj runtime.Object) fields.Set
	// Indexed is one of the selectable fields, or empty. A list or watch that selects one
	// value of this field reads only the objects with this value.
	Indexed string
	// PrepareCreate and PrepareUpdate set the fields that only the server may set, before
	// the object is validated. They may be nil.
	PrepareCreate func(obj runtime.Object)
	PrepareUpdate func(newObj, oldObj runtime.Object)
	// PrepareStatus is PrepareUpdate for a write to the status.
	PrepareStatus func(newObj, oldObj runtime.Object)
	// Dependents is what a deletion does to dependents if the request does not say.
	Dependents Dependents
	// GracePeriod returns the grace period of a deletion in seconds. The request has asked for
	// a period, or for none. A nil function means that the object is deleted at once.
	GracePeriod func(obj runtime.Object, requested *int64) int64
}

// KeepsMetadata reports whether a write to the status changes no metadata at all.
func (k Kind) KeepsMetadata() bool { return len(k.StatusKeeps) == len(allMetadata) }

// Name returns the name of the kind, such as "Deployment".
func (k Kind) Name() string { return reflect.TypeOf(k.Object).Elem().Name() }

// GroupVersionKind returns the kind with its group and version.
func (k Kind) GroupVersionKind() schema.GroupVersionKind { return k.GroupVersion.WithKind(k.Name()) }

// GroupResource returns the resource with its group, such as "deployments.apps".
func (k Kind) GroupResource() schema.GroupResource {
	return k.GroupVersion.WithResource(k.Resource).GroupResource()
}

// New returns an empty object of the kind.
func (k Kind) New() runtime.Object { return newLike(k.Object) }

// NewList returns an empty list of the kind.
func (k Kind) NewList() runtime.Object { return newLike(k.List) }

// newLike returns an empty object of the same Go type as the example.
func newLike(example runtime.Object) runtime.Object {
	return reflect.New(reflect.TypeOf(example).Elem()).Interface().(runtime.Object)
}
