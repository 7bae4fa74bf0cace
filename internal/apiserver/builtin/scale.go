package builtin

import (
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/subresource"
	"holdfast.dev/holdfast/internal/native"
)

// newScale serves the scale subresource of a kind.
func newScale(store *genericregistry.Store, kind native.Kind) *subresource.Scale {
	return subresource.NewScale(subresource.ScaleConfig{
		Store: store, Version: kind.GroupVersion,
		Paths:             managedfields.ResourcePathMappings{kind.GroupVersion.String(): fieldpath.MakePathOrDie("spec", "replicas")},
		View:              func(obj runtime.Object) (*autoscalingv1.Scale, error) { return scaleOf(kind, obj) },
		SetReplicas:       func(obj runtime.Object, replicas int32) error { *kind.Scale.SpecReplicas(obj) = &replicas; return nil },
		ShowManagedFields: true,
		MatchUID:          true,
	})
}

// scaleOf returns the replica counts and the selector of an object.
func scaleOf(kind native.Kind, obj runtime.Object) (*autoscalingv1.Scale, error) {
	selector, err := kind.Scale.Selector(obj)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("selector of %s: %w", kind.Name(), err))
	}
	scale := &autoscalingv1.Scale{Status: autoscalingv1.ScaleStatus{Replicas: kind.Scale.StatusReplicas(obj), Selector: selector}}
	if wanted := *kind.Scale.SpecReplicas(obj); wanted != nil {
		scale.Spec.Replicas = *wanted
	}
	return scale, nil
}
