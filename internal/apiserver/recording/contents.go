package recording

import (
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/ownership"
)

// Contents is implemented by the codecs of custom resources.
type Contents interface {
	// Stored returns the content of an object in the version in which it is stored. It shares values with the object.
	Stored(obj runtime.Object) (map[string]any, error)
	// Earlier returns the content of an object in a version in which it may have been stored earlier.
	Earlier(obj runtime.Object, apiVersion string) (map[string]any, error)
	// Lists says which lists of the stored version have items with keys.
	Lists() ownership.Lists
	// IsStored reports whether objects of this version are stored as they are, without a conversion.
	IsStored() bool
}

// contents has the contents of the objects of a resource, without seals.
type contents interface {
	// of returns the content of an object.
	of(obj runtime.Object) (*content, error)
	// keep returns what remains of an object before a write, which may change the object in place.
	keep(obj runtime.Object) (kept, error)
	// Lists says which lists of the contents have items with keys.
	Lists() ownership.Lists
}

// kept is an object before a write.
type kept interface {
	// content returns the content of the object.
	content() (*content, error)
	// changed returns the contents of the object and of its update. They have at least the fields that differ.
	changed(updated runtime.Object) (before, after *content, err error)
	// isFixed reports whether the object that this storage reads from etcd has the same content as the one that it has written.
	isFixed() bool
	// earlier returns the content of the object in a version in which it was stored earlier. It returns nil if the server cannot convert it.
	earlier(apiVersion string) *content
}

// content is the content of an object as history has it: secret values are sealed.
type content struct {
	apiVersion string
	values     map[string]any
}

// builtIn has the contents of the objects of a built-in kind.
type builtIn struct {
	apiVersion string
	lists      func() ownership.Lists
}

func (b builtIn) of(obj runtime.Object) (*content, error) {
	values, err := views.Content(obj)
	if err != nil {
		return nil, err
	}
	return &content{b.apiVersion, fieldhistory.Content(values)}, nil
}

func (b builtIn) keep(obj runtime.Object) (kept, error) { return typed{b, views.Bare(obj)}, nil }

// Lists implements contents.
func (b builtIn) Lists() ownership.Lists { return b.lists() }

// typed is an object of a built-in kind before a write. A copy of it takes much less time than its content.
type typed struct {
	builtIn
	obj runtime.Object
}

func (t typed) content() (*content, error) { return t.of(t.obj) }

func (t typed) changed(updated runtime.Object) (before, after *content, err error) {
	old, values, err := views.Changed(t.obj, updated)
	return &content{t.apiVersion, old}, &content{t.apiVersion, values}, err
}

func (typed) isFixed() bool { return true }

// earlier implements kept. The stored version of a built-in kind changes only with the release of the server.
func (typed) earlier(string) *content { return nil }

// custom has the contents of custom resources.
type custom struct{ Contents }

func (c custom) of(obj runtime.Object) (*content, error) {
	stored, err := c.Stored(obj)
	if err != nil {
		return nil, err
	}
	of := &content{values: fieldhistory.Content(stored)}
	of.apiVersion, _ = stored["apiVersion"].(string)
	return of, nil
}

func (c custom) keep(obj runtime.Object) (kept, error) {
	is, err := c.of(obj)
	return customKept{c, obj, is}, err
}

// customKept is a custom resource before a write.
type customKept struct {
	custom
	obj runtime.Object
	is  *content
}

func (k customKept) content() (*content, error) { return k.is, nil }

func (k customKept) changed(updated runtime.Object) (before, after *content, err error) {
	after, err = k.of(updated)
	return k.is, after, err
}

// isFixed implements kept. A storage has one schema. A conversion may give other values for the same stored object.
func (k customKept) isFixed() bool { return k.IsStored() }

func (k customKept) earlier(apiVersion string) *content {
	values, err := k.Earlier(k.obj, apiVersion)
	if err != nil {
		return nil // the definition does not have the version any longer, or its webhook does not answer
	}
	return &content{apiVersion, fieldhistory.Content(values)}
}
