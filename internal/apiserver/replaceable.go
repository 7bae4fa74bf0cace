package apiserver

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/client-go/metadata"

	"holdfast.dev/holdfast/internal/apiserver/custom"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/replace"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/native"
)

// tryTimeout bounds the dry run of a change of one dependent.
const tryTimeout = 30 * time.Second

// replaceable implements replace.Objects with the registries of the server.
type replaceable struct {
	builtIn  map[schema.GroupResource]*genericregistry.Store
	custom   *custom.Server
	readable storage.Readable
	// inside sends requests with the rights of the garbage collector.
	inside metadata.Interface
	// collected says that the server runs its garbage collector.
	collected bool
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

// Collected implements replace.Dependents.
func (r replaceable) Collected() bool { return r.collected }

// Dependents implements replace.Dependents.
func (r replaceable) Dependents(ctx context.Context, owner types.UID, namespace string) ([]replace.Dependent, error) {
	stored, err := r.readable.Dependents(ctx, owner, namespace)
	if err != nil {
		return nil, err
	}
	found := make([]replace.Dependent, 0, len(stored))
	for _, one := range stored {
		found = append(found, replace.Dependent{Resource: one.Resource.WithVersion(r.version(one.Resource)), Metadata: one.Metadata})
	}
	return found, nil
}

// version returns a version in which the server serves a resource, empty if there is none.
func (r replaceable) version(resource schema.GroupResource) string {
	if resource == definitions.Resource {
		return "v1"
	}
	for _, kind := range native.Kinds() {
		if kind.GroupResource() == resource {
			return kind.GroupVersion.Version
		}
	}
	if version := r.custom.StorageVersion(resource); version != "" {
		return version
	}
	if defined := r.custom.Definition(resource); defined != nil {
		for _, version := range defined.Spec.Versions {
			if version.Served {
				return version.Name
			}
		}
	}
	return ""
}

// Try implements replace.Dependents.
func (r replaceable) Try(ctx context.Context, dependent replace.Dependent, owners []metav1.OwnerReference) error {
	if owners == nil {
		owners = []metav1.OwnerReference{}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": dependent.Metadata.UID, "ownerReferences": owners}})
	if err != nil {
		return err
	}
	// The context of the request has its user, and the dry run is one of the server.
	own, cancel := context.WithTimeout(context.Background(), tryTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	objects := r.inside.Resource(dependent.Resource).Namespace(dependent.Metadata.Namespace)
	_, err = objects.Patch(own, dependent.Metadata.Name, types.MergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}
