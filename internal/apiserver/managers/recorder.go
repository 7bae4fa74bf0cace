package managers

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Config is an endpoint of a kind. All fields but Subresource and Reset are required.
type Config struct {
	Scheme *runtime.Scheme
	Types  managedfields.TypeConverter
	Kind   schema.GroupVersionKind
	// Subresource is empty for writes to the object itself.
	Subresource string
	// Reset has filters for the fields that a write to the endpoint does not change.
	Reset map[fieldpath.APIVersion]fieldpath.Filter
	Sets  *Sets
}

// Recorder records the managers of the objects of an endpoint. It is safe for concurrent use.
type Recorder struct {
	Config
	convertor runtime.ObjectConvertor
	library   *managedfields.FieldManager
}

// New returns the Recorder of an endpoint.
func New(c Config) (*Recorder, error) {
	convertor := runtime.UnsafeObjectConvertor(c.Scheme)
	hub := schema.GroupVersion{Group: c.Kind.Group, Version: runtime.APIVersionInternal}
	library, err := managedfields.NewDefaultFieldManager(c.Types, convertor, c.Scheme, c.Scheme, c.Kind, hub, c.Subresource, c.Reset)
	if err != nil {
		return nil, fmt.Errorf("field manager of %s: %w", c.Kind, err)
	}
	return &Recorder{Config: c, convertor: convertor, library: library}, nil
}

// Apply returns a stored object with an applied configuration. It may change the configuration.
func (r *Recorder) Apply(stored, configuration runtime.Object, manager string, force bool) (runtime.Object, error) {
	return r.library.Apply(stored, configuration, manager, force)
}

// Update returns an object with its managed fields after an update or a patch by a manager. It may return the same object.
func (r *Recorder) Update(stored, obj runtime.Object, manager string) runtime.Object {
	if manager == "" {
		manager = "unknown" // as the library names it
	}
	if entries, ok := r.quick(stored, obj, manager); ok {
		if accessor, err := meta.Accessor(obj); err == nil {
			accessor.SetManagedFields(entries)
			return obj
		}
	}
	return r.library.UpdateNoErrors(stored, obj, manager)
}

// quick returns the managed fields of an object if the write only replaced values of fields that the manager owns alone.
func (r *Recorder) quick(stored, obj runtime.Object, manager string) ([]metav1.ManagedFieldsEntry, bool) {
	before, err := meta.Accessor(stored)
	if err != nil {
		return nil, false
	}
	after, err := meta.Accessor(obj)
	if err != nil {
		return nil, false
	}
	entries := before.GetManagedFields()
	if r.Subresource == "" && !areKept(entries, after.GetManagedFields()) {
		return nil, false
	}
	own, ok := r.ownEntry(entries, manager)
	if !ok {
		return nil, false
	}
	old, err := r.typed(stored)
	if err != nil {
		return nil, false
	}
	replaced, ok := r.replaced(old, obj)
	if !ok || !r.ownsAlone(own, entries, replaced, old) {
		return nil, false
	}
	return written(entries, own, !replaced.Empty()), true
}

// replaced returns the fields that have another value in the new object than in the stored one. It returns false if a field is new or gone.
func (r *Recorder) replaced(old *typed.TypedValue, obj runtime.Object) (*fieldpath.Set, bool) {
	updated, err := r.typed(obj)
	if err != nil {
		return nil, false
	}
	compared, err := old.Compare(updated)
	if err != nil {
		return nil, false
	}
	compared = compared.FilterFields(r.Reset[fieldpath.APIVersion(r.Kind.GroupVersion().String())])
	if !compared.Added.Difference(untracked).Empty() || !compared.Removed.Difference(untracked).Empty() {
		return nil, false
	}
	return compared.Modified.Difference(untracked), true
}

// ownsAlone reports whether the manager of an entry owns all fields of a set, and no other manager one of them. It returns false if the library would change
// the set of a manager.
func (r *Recorder) ownsAlone(own int, entries []metav1.ManagedFieldsEntry, fields *fieldpath.Set, value *typed.TypedValue) bool {
	for i := range entries {
		set := r.Sets.find(r.Kind, &entries[i], value)
		switch {
		case set == nil:
			return false
		case i == own && !fields.Difference(set).Empty():
			return false
		case i != own && !fields.Intersection(set).Empty():
			return false
		}
	}
	return true
}

// typed returns an object without its managed fields as a typed value. The value shares memory with the object. As in the library, the object gets the name of its
// kind.
func (r *Recorder) typed(obj runtime.Object) (*typed.TypedValue, error) {
	versioned, err := r.convertor.ConvertToVersion(obj, r.Kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	return r.Types.ObjectToTyped(WithoutEntries(versioned), typed.AllowDuplicates)
}

// WithoutEntries returns an object without its managed fields, which shares all other memory with it.
func WithoutEntries(obj runtime.Object) runtime.Object {
	original := reflect.ValueOf(obj).Elem()
	shallow := reflect.New(original.Type())
	shallow.Elem().Set(original)
	out, ok := shallow.Interface().(runtime.Object)
	if !ok {
		return obj
	}
	if accessor, err := meta.Accessor(out); err == nil {
		accessor.SetManagedFields(nil)
	}
	return out
}
