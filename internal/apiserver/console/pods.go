package console

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/references"
)

// maxFiles is how many lines about the files of a pod a Remark has.
const maxFiles = 5

// addFiles adds which files of a pod are old: those of a volume that is not ready, and those of objects that were deleted or replaced since.
func (s Sources) addFiles(ctx context.Context, r *Remark, text []byte) error {
	var pod struct {
		Spec struct {
			NodeName string `json:"nodeName"`
		} `json:"spec"`
		Status struct {
			Conditions []corev1.PodCondition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(text, &pod); err != nil {
		return fmt.Errorf("decode the pod: %w", err)
	}
	r.Node = pod.Spec.NodeName
	for _, condition := range pod.Status.Conditions {
		// Package node has the name too, and imports much else.
		if condition.Type == "holdfast.dev/VolumesReady" && condition.Status == corev1.ConditionFalse {
			r.Files = append(r.Files, cut("not all volumes are up to date: "+condition.Message))
		}
		if condition.Type == references.Pinned && condition.Status == corev1.ConditionTrue {
			s.addPins(ctx, r, condition.Message)
		}
	}
	return nil
}

// addPins adds the pins of a pod on objects that are not there any more. The user must be allowed to get the object: otherwise the answer
// would tell whether it exists.
func (s Sources) addPins(ctx context.Context, r *Remark, text string) {
	if s.Versions.UID == nil {
		return
	}
	more := 0
	for _, pin := range references.ParsePins(text) {
		resource, kind := "configmaps", "ConfigMap"
		if pin.Kind == references.Secret {
			resource, kind = "secrets", "Secret"
		}
		pinned := subject{schema.GroupVersionResource{Version: "v1", Resource: resource}, unstructured.Unstructured{Object: map[string]any{}}, s.Rights}
		pinned.obj.SetNamespace(r.Namespace)
		pinned.obj.SetName(pin.Name)
		uid, known := s.Versions.UID(pin.Kind, r.Namespace, pin.Name)
		if !known || uid == pin.UID || !pinned.may(ctx, "get") {
			continue
		}
		if len(r.Files) >= maxFiles {
			more++
			continue
		}
		what := "was replaced by another one"
		if uid == "" {
			what = "does not exist any more"
		}
		r.Files = append(r.Files, fmt.Sprintf("the pod has files of %s %s, which %s", kind, pin.Name, what))
	}
	if more > 0 {
		r.Files = append(r.Files, fmt.Sprintf("and files of %d further objects", more))
	}
}
