package views

import (
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/ownership"
)

// differingMetadata returns the metadata of two objects. It leaves out the labels if both objects
// have the same, and likewise the annotations. It always includes name, namespace, UID and the
// annotations about ownership. If finalizers or owner references differ, it returns all metadata
// that clients set.
func differingMetadata(live, updated metav1.Object) (liveMeta, updatedMeta map[string]any, err error) {
	liveMeta, updatedMeta = identity(live), identity(updated)
	if !reflect.DeepEqual(live.GetFinalizers(), updated.GetFinalizers()) ||
		!reflect.DeepEqual(live.GetOwnerReferences(), updated.GetOwnerReferences()) {
		if liveMeta, err = wholeMetadata(live); err != nil {
			return nil, nil, err
		}
		updatedMeta, err = wholeMetadata(updated)
		return liveMeta, updatedMeta, err
	}
	if !maps.Equal(live.GetLabels(), updated.GetLabels()) {
		setAll(liveMeta, "labels", live.GetLabels())
		setAll(updatedMeta, "labels", updated.GetLabels())
	}
	if !maps.Equal(live.GetAnnotations(), updated.GetAnnotations()) {
		setAll(liveMeta, "annotations", live.GetAnnotations())
		setAll(updatedMeta, "annotations", updated.GetAnnotations())
		return liveMeta, updatedMeta, nil
	}
	own := map[string]any{}
	for _, key := range []string{ownership.LastApplied, ownership.Ignore} {
		if value, ok := live.GetAnnotations()[key]; ok {
			own[key] = value
		}
	}
	liveMeta["annotations"], updatedMeta["annotations"] = own, own
	return liveMeta, updatedMeta, nil
}

// identity returns name, namespace and UID.
func identity(obj metav1.Object) map[string]any {
	out := map[string]any{"name": obj.GetName(), "uid": string(obj.GetUID())}
	if namespace := obj.GetNamespace(); namespace != "" {
		out["namespace"] = namespace
	}
	return out
}

func setAll(metadata map[string]any, name string, values map[string]string) {
	if len(values) == 0 {
		return
	}
	metadata[name] = toAny(values)
}

// wholeMetadata returns the metadata that clients set, without managed fields.
func wholeMetadata(obj metav1.Object) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&metav1.ObjectMeta{
		Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(), Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(),
		Finalizers: obj.GetFinalizers(), OwnerReferences: obj.GetOwnerReferences(),
	})
}
