package apiserver

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"holdfast.dev/holdfast/internal/apiserver/custom"
	"holdfast.dev/holdfast/internal/apiserver/replace"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/native"
)

// replaceable implements replace.Objects with the registries of the server.
type replaceable struct {
	builtIn map[schema.GroupResource]*genericregistry.Store
	custom  *custom.Server
}

// Find implements replace.Objects.
func (r replaceable) Find(ctx context.Context, info *genericapirequest.RequestInfo) (replace.Stored, bool, error) {
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	store := r.builtIn[resource]
	if store == nil {
		object, key, ok, err := r.custom.Find(ctx, info)
		if err != nil || !ok {
			return replace.Stored{}, false, err
		}
		return replace.Stored{Object: object, Key: storage.KeyPrefix + key, Kind: object.GetObjectKind().GroupVersionKind().Kind}, true, nil
	}
	object, err := store.Get(ctx, info.Name, &metav1.GetOptions{})
	if err != nil {
		return replace.Stored{}, false, err
	}
	key, err := store.KeyFunc(ctx, info.Name)
	if err != nil {
		return replace.Stored{}, false, err
	}
	return replace.Stored{Object: object, Key: storage.KeyPrefix + key, Kind: kindOf(resource)}, true, nil
}

// kindOf returns the kind of a built-in resource.
func kindOf(resource schema.GroupResource) string {
	for _, kind := range native.Kinds() {
		if kind.GroupResource() == resource {
			return kind.Name()
		}
	}
	return ""
}

// Pods implements replace.Objects.
func (r replaceable) Pods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	list, err := r.builtIn[corev1.Resource("pods")].List(genericapirequest.WithNamespace(ctx, namespace), &internalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	pods, ok := list.(*corev1.PodList)
	if !ok {
		return nil, nil
	}
	return pods.Items, nil
}
