package ownershipcheck

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// updated is the object as the write would leave it.
func (w *write) updated(live map[string]any, body []byte) (map[string]any, error) {
	tried, err := w.try(body)
	if err != nil || w.info.Subresource == "" {
		return tried, err
	}
	// A scale of zero has no count: it is left out when it is encoded.
	replicas, _, err := unstructured.NestedInt64(tried, "spec", "replicas")
	if err != nil {
		return nil, err
	}
	updated := runtime.DeepCopyJSON(live)
	if err := unstructured.SetNestedField(updated, replicas, w.replicasPath(live)...); err != nil {
		return nil, err
	}
	return updated, nil
}

// replicasPath is where the scale of an object is written: a custom resource's
// definition says so.
func (w *write) replicasPath(live map[string]any) []string {
	gvk := (&unstructured.Unstructured{Object: live}).GroupVersionKind()
	standard := []string{"spec", "replicas"}
	if w.types.isNative(gvk) {
		return standard
	}
	definition, err := w.read(w.at(w.req, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+w.info.Resource+"."+gvk.Group))
	if err != nil {
		// Who may scale need not be allowed to read definitions; most say this.
		return standard
	}
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
