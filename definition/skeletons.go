package definition

import (
	"encoding/json"

	"holdfast.dev/holdfast/skeleton"
)

// ShowSkeletonAnnotation is the annotation that, set to "true" on a definition,
// has the server write the shapes of its schemas into status.skeletons.
const ShowSkeletonAnnotation = "holdfast.dev/show-skeleton"

// Skeletons is what status.skeletons is to hold: nothing without
// ShowSkeletonAnnotation, otherwise the skeleton of each version that has a
// schema.
func Skeletons(crd *CustomResourceDefinition) []VersionSkeleton {
	if crd.Annotations[ShowSkeletonAnnotation] != "true" {
		return nil
	}
	var shown []VersionSkeleton
	for i := range crd.Spec.Versions {
		s, _, err := crd.Spec.Versions[i].DecodeSchema()
		if err != nil || s == nil {
			continue
		}
		if out, err := json.Marshal(skeleton.Build(s).Schema()); err == nil {
			shown = append(shown, VersionSkeleton{Version: crd.Spec.Versions[i].Name, Schema: out})
		}
	}
	return shown
}
