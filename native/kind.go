package native

import (
	"reflect"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope says whether objects of a kind live in a namespace.
type Scope int

const (
	// Namespaced objects live in a namespace; it is the zero value because most do.
	Namespaced Scope = iota
	// Cluster objects stand alone.
	Cluster
)

// Dependents is what becomes of the dependents of a deleted object when the
// request does not say.
type Dependents int

const (
	// Collected dependents go too.
	Collected Dependents = iota
	// Orphaned dependents stay, without their owner; two old kinds have it so.
	Orphaned
	// Unowned objects own nothing.
	Unowned
)

// Kind is one built-in resource: its names, its Go types and what is
// particular to it. Zero values mean "nothing particular".
type Kind struct {
	// GroupVersion under which the kind is served and stored.
	GroupVersion schema.GroupVersion
	// Views are other versions and groups under which the same objects are
	// served, in the words of those.
	Views []schema.GroupVersion
	// Resource is the plural name in URLs.
	Resource string
	// ShortNames and Categories are what kubectl accepts beside the resource name.
	ShortNames []string
	Categories []string
	Scope      Scope

	// Object and List are examples of the Go types; they are never written to.
	Object runtime.Object
	List   runtime.Object

	// Status says that the kind has a status subresource.
	Status bool
	// Generation says that metadata.generation counts changes of everything
	// but metadata and status.
	Generation bool
	// Scale is set for kinds with a scale subresource.
	Scale *Scale
	// CreateOnUpdate lets a PUT create the object.
	CreateOnUpdate bool
	// ConditionalUpdate demands a resourceVersion in every PUT.
	ConditionalUpdate bool
	// ReturnDeleted answers DELETE with the object instead of a Status.
	ReturnDeleted bool

	// Selectable gives the fields, beyond metadata.name and
	// metadata.namespace, that a field selector may name.
	Selectable func(obj runtime.Object) fields.Set
	// Indexed is the one of those fields that many clients select by, each one
	// value of it: a list or watch of that costs what it selects.
	Indexed string
	// PrepareCreate and PrepareUpdate set what only the server may set, before
	// the object is judged.
	PrepareCreate func(obj runtime.Object)
	PrepareUpdate func(newObj, oldObj runtime.Object)
	// Dependents is what becomes, by default, of objects that name a deleted one
	// as their owner.
	Dependents Dependents
	// GracePeriod gives the seconds a deletion waits for the object's
	// keeper when the request names none; nil deletes at once.
	GracePeriod func(obj runtime.Object) int64
}

// Name is the kind's name, "Deployment".
func (k Kind) Name() string { return reflect.TypeOf(k.Object).Elem().Name() }

// GroupVersionKind names the kind in full.
func (k Kind) GroupVersionKind() schema.GroupVersionKind { return k.GroupVersion.WithKind(k.Name()) }

// GroupResource names the resource, "deployments.apps".
func (k Kind) GroupResource() schema.GroupResource {
	return k.GroupVersion.WithResource(k.Resource).GroupResource()
}

// New returns an empty object of the kind.
func (k Kind) New() runtime.Object { return fresh(k.Object) }

// NewList returns an empty list of the kind.
func (k Kind) NewList() runtime.Object { return fresh(k.List) }

func fresh(example runtime.Object) runtime.Object {
	return reflect.New(reflect.TypeOf(example).Elem()).Interface().(runtime.Object)
}
