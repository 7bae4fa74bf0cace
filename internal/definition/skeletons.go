package definition

import (
	"encoding/json"

	"holdfast.dev/holdfast/skeleton"
)

// ShowSkeletonAnnotation is an annotation of a definition. If it is "true", the
// server writes the skeletons of the schemas to status.skeletons.
const ShowSkeletonAnnotation = "holdfast.dev/show-skeleton"

// Skeletons returns the value of status.skeletons: the skeleton of each version
// that has a schema, or nil without ShowSkeletonAnnotation.
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
