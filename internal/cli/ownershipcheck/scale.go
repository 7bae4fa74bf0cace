package ownershipcheck

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// updated returns the object as the write would store it. For a write of the scale it is
// the live object with the new number of replicas.
func (w *write) updated(live map[string]any, body []byte) (map[string]any, error) {
	stored, err := w.dryRun(body)
	if err != nil || w.info.Subresource != "scale" {
		return stored, err
	}
	// The field is absent if it is zero, because the encoding omits zero.
	replicas, _, err := unstructured.NestedInt64(stored, "spec", "replicas")
	if err != nil {
		return nil, err
	}
	updated := runtime.DeepCopyJSON(live)
	if err := unstructured.SetNestedField(updated, replicas, w.replicasPath(live)...); err != nil {
		return nil, err
	}
	return updated, nil
}

// replicasPath returns the path of the replicas in an object. The path in a custom resource
// comes from its definition.
func (w *write) replicasPath(live map[string]any) []string {
	gvk := (&unstructured.Unstructured{Object: live}).GroupVersionKind()
	standard := []string{"spec", "replicas"}
	if w.types.isNative(gvk) {
		return standard
	}
	name := w.info.Resource + "." + gvk.Group
	definition, err := w.read(w.serverURL(w.req, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name))
	if err != nil {
		// The user may lack the right to read definitions. Most definitions have this path.
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
