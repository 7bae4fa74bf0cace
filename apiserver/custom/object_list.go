package custom

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// objectList is a list of objects. The embedded list holds the kind and the metadata. Its
// items are always empty.
type objectList struct {
	unstructured.UnstructuredList
	Items []object
}

var _ runtime.Unstructured = &objectList{}

// newObjectList creates an empty list of a kind.
func newObjectList(gvk runtimeKind) *objectList {
	list := &objectList{}
	list.SetGroupVersionKind(gvk)
	return list
}

// plain returns the list in the type that the libraries know.
func (l *objectList) plain() *unstructured.UnstructuredList {
	out := &unstructured.UnstructuredList{Object: l.Object, Items: make([]unstructured.Unstructured, len(l.Items))}
	for i := range l.Items {
		out.Items[i] = l.Items[i].Unstructured
	}
	return out
}

// ownList is the reverse of plain.
func ownList(list *unstructured.UnstructuredList) *objectList {
	out := &objectList{Items: make([]object, len(list.Items))}
	out.Object = list.Object
	for i := range list.Items {
		out.Items[i].Unstructured = list.Items[i]
	}
	return out
}

// DeepCopyObject implements runtime.Object. The copied objects share their values with the
// objects, see object.DeepCopyObject.
func (l *objectList) DeepCopyObject() runtime.Object {
	out := &objectList{Items: make([]object, len(l.Items))}
	out.Object = share(l.Object)
	for i := range l.Items {
		out.Items[i].Object, out.Items[i].unseen = share(l.Items[i].Object), l.Items[i].unseen
	}
	return out
}

// NewEmptyInstance implements runtime.Unstructured.
func (l *objectList) NewEmptyInstance() runtime.Unstructured {
	return newObjectList(l.GroupVersionKind())
}

// EachListItem implements runtime.Unstructured.
func (l *objectList) EachListItem(visit func(runtime.Object) error) error {
	for i := range l.Items {
		if err := visit(&l.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// EachListItemWithAlloc implements runtime.Unstructured.
func (l *objectList) EachListItemWithAlloc(visit func(runtime.Object) error) error {
	for i := range l.Items {
		item := l.Items[i]
		if err := visit(&item); err != nil {
			return err
		}
	}
	return nil
}

// UnstructuredContent implements runtime.Unstructured.
func (l *objectList) UnstructuredContent() map[string]any {
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
func (l *objectList) SetUnstructuredContent(content map[string]any) {
	list := &unstructured.UnstructuredList{}
	list.SetUnstructuredContent(content)
	*l = *ownList(list)
}

// MarshalJSON implements json.Marshaler.
func (l *objectList) MarshalJSON() ([]byte, error) { return l.plain().MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler.
func (l *objectList) UnmarshalJSON(data []byte) error {
	list := &unstructured.UnstructuredList{}
	if err := list.UnmarshalJSON(data); err != nil {
		return err
	}
	*l = *ownList(list)
	return nil
}
