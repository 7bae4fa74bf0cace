package garbage_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// widgets is the custom resource Widget in a group of its own.
type widgets struct {
	dynamic.NamespaceableResourceInterface
	client      dynamic.Interface
	group       string
	definitions dynamic.ResourceInterface
}

// defineWidgets creates the definition of Widgets in a group, and waits until the server
// serves it.
func (c cluster) defineWidgets(t testing.TB, group string) widgets {
	t.Helper()
	return c.defineVersions(t, group, `[{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]`)
}

// defineVersions is defineWidgets with other versions. One of them is v1.
func (c cluster) defineVersions(t testing.TB, group, versions string) widgets {
	t.Helper()
	w := c.createDefinition(t, group, versions)
	waittest.Until(t, "widgets are served", func() error {
		_, err := w.List(t.Context(), metav1.ListOptions{})
		return err
	})
	return w
}

// createDefinition creates the definition of Widgets with the given versions. It sends no request for
// Widgets.
func (c cluster) createDefinition(t testing.TB, group, versions string) widgets {
	t.Helper()
	object := yamltest.Map(t, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%s}
spec:
  group: %s
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions: %s`, group, group, versions))
	w := c.widgets(group)
	if _, err := w.definitions.Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return w
}

// widgets returns the Widgets of a group in version v1.
func (c cluster) widgets(group string) widgets {
	client := dynamic.NewForConfigOrDie(c.Config)
	return widgets{
		NamespaceableResourceInterface: client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}),
		client:                         client,
		group:                          group,
		definitions: client.Resource(schema.GroupVersionResource{
			Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
		}),
	}
}

// undefine deletes the definition, and waits until it is gone.
func (w widgets) undefine(t testing.TB) {
	t.Helper()
	name := "widgets." + w.group
	if err := w.definitions.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the definition is gone", func() bool {
		_, err := w.definitions.Get(t.Context(), name, metav1.GetOptions{})
		return notFound(t, err)
	})
}

// create creates a Widget.
func (w widgets) create(t testing.TB, namespace, name string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
	t.Helper()
	created, err := w.Namespace(namespace).Create(t.Context(), w.object(name, owners...), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func (w widgets) object(name string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: w.group, Version: "v1", Kind: "Widget"})
	object.SetName(name)
	object.SetOwnerReferences(owners)
	return object
}

func ownedBy(owner *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(),
	}
}
