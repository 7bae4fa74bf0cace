package object

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// List is a list of objects. The embedded list holds the kind and the metadata. Its
// items are always empty.
type List struct {
	unstructured.UnstructuredList
	Items []Object
}

var _ runtime.Unstructured = &List{}

// NewList creates an empty list of a kind.
func NewList(gvk schema.GroupVersionKind) *List {
	list := &List{}
	list.SetGroupVersionKind(gvk)
	return list
}

// plain returns the list in the type that the libraries know.
func (l *List) plain() *unstructured.UnstructuredList {
	out := &unstructured.UnstructuredList{Object: l.Object, Items: make([]unstructured.Unstructured, len(l.Items))}
	for i := range l.Items {
		out.Items[i] = l.Items[i].Unstructured
	}
	return out
}

// ownList is the reverse of plain.
func ownList(list *unstructured.UnstructuredList) *List {
	out := &List{Items: make([]Object, len(list.Items))}
	out.Object = list.Object
	for i := range list.Items {
		out.Items[i].Unstructured = list.Items[i]
	}
	return out
}

// DeepCopyObject implements runtime.Object.
func (l *List) DeepCopyObject() runtime.Object {
	out := &List{Items: make([]Object, len(l.Items))}
	out.Object = copyOf(l.Object)
	for i := range l.Items {
		out.Items[i] = *l.Items[i].Copy()
	}
	return out
}

// NewEmptyInstance implements runtime.Unstructured.
func (l *List) NewEmptyInstance() runtime.Unstructured {
	return NewList(l.GroupVersionKind())
}

// EachListItem implements runtime.Unstructured.
func (l *List) EachListItem(visit func(runtime.Object) error) error {
	for i := range l.Items {
		if err := visit(&l.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// EachListItemWithAlloc implements runtime.Unstructured.
func (l *List) EachListItemWithAlloc(visit func(runtime.Object) error) error {
	for i := range l.Items {
		item := l.Items[i]
		if err := visit(&item); err != nil {
			return err
		}
	}
	return nil
}

// UnstructuredContent implements runtime.Unstructured.
func (l *List) UnstructuredContent() map[string]any {
	out := maps.Clone(l.Object)
	if out == nil {
		out = map[string]any{}
	}
	items := make([]any, len(l.Items))
	for i := range l.Items {
		items[i] = l.Items[i].UnstructuredContent()
	}
	out["items"] = items
	return out
}

// SetUnstructuredContent implements runtime.Unstructured.
func (l *List) SetUnstructuredContent(content map[string]any) {
	list := &unstructured.UnstructuredList{}
	list.SetUnstructuredContent(content)
	*l = *ownList(list)
}

// MarshalJSON implements json.Marshaler.
func (l *List) MarshalJSON() ([]byte, error) { return l.plain().MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler.
func (l *List) UnmarshalJSON(data []byte) error {
	list := &unstructured.UnstructuredList{}
	if err := list.UnmarshalJSON(data); err != nil {
		return err
	}
	*l = *ownList(list)
	return nil
}
