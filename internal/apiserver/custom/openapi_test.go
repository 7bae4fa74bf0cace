package custom_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestOpenAPIModels checks that the v2 document has the model of a custom resource, and that the models which custom resources share,
// such as ObjectMeta and Scale, are those of the built-in kinds. The library renames a model that differs, and then the document cannot
// be assembled from pieces.
func TestOpenAPIModels(t *testing.T) {
	const group = "models.example.com"
	define(t, group, "{type: object}")
	document := shared.must(t, http.StatusOK, "GET", "/openapi/v2", "")
	models, _, err := unstructured.NestedMap(document.Object, "definitions")
	if err != nil {
		t.Fatal(err)
	}
	if models["com.example.models.v1.Thing"] == nil {
		t.Error("the document does not have the model of the kind")
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if regexp.MustCompile(`_v\d+$`).MatchString(name) {
			t.Errorf("the document has the renamed model %s", name)
		}
	}
}
