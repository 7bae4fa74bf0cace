package lifecycle_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver/servertest"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	widgets     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}`

// defineWidgets creates the definition and waits until its kind is served.
func (c cluster) defineWidgets(t testing.TB) dynamic.Interface {
	t.Helper()
	client := dynamic.NewForConfigOrDie(c.config)
	var object map[string]any
	if err := yaml.Unmarshal([]byte(widgetDefinition), &object); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(definitions).Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "widgets are served", func() bool {
		_, err := client.Resource(widgets).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	return client
}

func widget(name string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
	w := &unstructured.Unstructured{}
	w.SetGroupVersionKind(widgets.GroupVersion().WithKind("Widget"))
	w.SetName(name)
	w.SetOwnerReferences(owners)
	return w
}

func ownedBy(w *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Widget", Name: w.GetName(), UID: w.GetUID()}
}
