package live

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// typed returns an object as its Go type, with defaults.
func typed(scheme *runtime.Scheme, object *unstructured.Unstructured) (runtime.Object, error) {
	out, err := scheme.New(object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, out); err != nil {
		return nil, fmt.Errorf("%s: %w", object.GetName(), err)
	}
	scheme.Default(out)
	return out, nil
}

// mergeBuiltIn returns the result of the strategic merge patch that kubectl apply would send.
func mergeBuiltIn(local, live *unstructured.Unstructured, kind runtime.Object) (*unstructured.Unstructured, error) {
	original, modified, current, err := threeWays(local, live)
	if err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(kind)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(original, modified, current, meta, true)
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergePatch(current, patch, kind)
	if err != nil {
		return nil, err
	}
	return decode(merged)
}

// withData returns a Secret with its stringData in data, as the server stores it. Other objects
// are returned as they are.
func withData(object *unstructured.Unstructured) *unstructured.Unstructured {
	text, ok, err := unstructured.NestedStringMap(object.Object, "stringData")
	if !ok || err != nil || object.GetKind() != "Secret" {
		return object
	}
	out := object.DeepCopy()
	data, _ := out.Object["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for key, value := range text {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	out.Object["data"] = data
	delete(out.Object, "stringData")
	return out
}

// mergeCustom returns the result of the merge patch that kubectl apply would send.
func mergeCustom(local, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	original, modified, current, err := threeWays(local, live)
	if err != nil {
		return nil, err
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, modified, current)
	if err != nil {
		return nil, err
	}
	merged, err := jsonpatch.MergePatch(current, patch)
	if err != nil {
		return nil, err
	}
	return decode(merged)
}

// threeWays returns the last-applied configuration, the new configuration and the live object.
func threeWays(local, live *unstructured.Unstructured) (original, modified, current []byte, err error) {
	if modified, err = json.Marshal(local.Object); err != nil {
		return nil, nil, nil, err
	}
	if current, err = json.Marshal(live.Object); err != nil {
		return nil, nil, nil, err
	}
	if text := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; text != "" {
		original = []byte(text)
	}
	return original, modified, current, nil
}

func decode(data []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(data)
}
