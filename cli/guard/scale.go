package guard

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// updated is the object as the write would leave it.
func (w *write) updated(live map[string]any, body []byte) map[string]any {
	tried := w.try(body)
	if tried == nil || w.info.Subresource == "" {
		return tried
	}
	replicas, ok, err := unstructured.NestedInt64(tried, "spec", "replicas")
	if err != nil || !ok {
		return nil
	}
	updated := runtime.DeepCopyJSON(live)
	if unstructured.SetNestedField(updated, replicas, w.replicasPath(live)...) != nil {
		return nil
	}
	return updated
}

// replicasPath is where the scale of an object is written: a custom resource's
// definition says so.
func (w *write) replicasPath(live map[string]any) []string {
	gvk := (&unstructured.Unstructured{Object: live}).GroupVersionKind()
	standard := []string{"spec", "replicas"}
	if w.types.isNative(gvk) {
		return standard
	}
	definition := w.read(w.at(w.req, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+w.info.Resource+"."+gvk.Group))
	versions, _, _ := unstructured.NestedSlice(definition, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		path, _, _ := unstructured.NestedString(version, "subresources", "scale", "specReplicasPath")
		if version["name"] == gvk.Version && path != "" {
			return strings.Split(strings.TrimPrefix(path, "."), ".")
		}
	}
	return standard
}
