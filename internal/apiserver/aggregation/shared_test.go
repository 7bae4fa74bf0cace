package aggregation_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// nuts is a custom resource in the version of the aggregated server.
const nuts = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: nuts.fruit.example}
spec:
  group: fruit.example
  scope: Namespaced
  names: {plural: nuts, kind: Nut}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// testSharedVersion checks the v3 documents of a version that this server and another one have.
func (c cluster) testSharedVersion(t *testing.T, ca []byte) {
	has := func(resource string) func() bool {
		return func() bool {
			_, body := c.get(t, c.config, "/openapi/v3/apis/fruit.example/v1", nil)
			return strings.Contains(body, "/apis/fruit.example/v1/namespaces/{namespace}/"+resource)
		}
	}
	if status, _ := c.get(t, c.config, "/openapi/v3/apis/fruit.example/v1", nil); status != http.StatusNotFound {
		t.Errorf("an unknown version: status %d", status)
	}
	c.register(t, remoteService("fruit.example", "fruits", ca))
	waittest.Until(t, "the document of the other server is served", has("fruits"))
	object := yamltest.Object(t, nuts)
	definitions := dynamic.NewForConfigOrDie(c.config).Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	if _, err := definitions.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if !has("fruits")() {
		t.Error("the document of the other server is gone, although requests go there")
	}
	if err := c.services.Delete(t.Context(), "v1.fruit.example", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the document of this server is served", has("nuts"))
}
