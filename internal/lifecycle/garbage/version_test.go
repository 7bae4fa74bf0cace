package garbage_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/waittest"
)

// TestDependentsKeepTheirFields checks that the collector writes dependents in the storage
// version, here v1. In the preferred version v2 a write would remove spec.
func TestDependentsKeepTheirFields(t *testing.T) {
	t.Parallel()
	const namespace, group = "keep-fields", "keepfields.example.com"
	c := shared
	tr := newTree(t, c, namespace)
	tr.create(t, "root")
	widgets := c.defineVersions(t, group, `
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: string}}}}}`)
	objects := widgets.Namespace(namespace)
	dependent := widgets.object("dependent", tr.ref(t, "root"))
	dependent.Object["spec"] = "kept"
	if _, err := objects.Create(t.Context(), dependent, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The collector orphans the dependents that it has seen, and it watches Widgets and ConfigMaps
	// separately. When it has deleted a later Widget, it has seen the dependent.
	widgets.create(t, namespace, "probe", metav1.OwnerReference{
		APIVersion: "v1", Kind: "ConfigMap", Name: "probed", UID: "00000000-0000-0000-0000-000000000000",
	})
	waittest.Until(t, "the collector has seen the dependent", func() bool {
		_, err := objects.Get(t.Context(), "probe", metav1.GetOptions{})
		return notFound(t, err)
	})
	tr.delete(t, "root", metav1.DeletePropagationOrphan)
	var found *unstructured.Unstructured
	waittest.Until(t, "the dependent has no owner", func() bool {
		var err error
		if found, err = objects.Get(t.Context(), "dependent", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		return len(found.GetOwnerReferences()) == 0
	})
	if found.Object["spec"] != "kept" {
		t.Errorf("spec is %v after the owner was deleted", found.Object["spec"])
	}
	widgets.undefine(t)
}
