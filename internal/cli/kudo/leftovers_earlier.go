package kudo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"holdfast.dev/holdfast/api"
)

// leftoversOfEarlier finds the cluster-scoped objects of an Instance that is gone, by the
// annotations and labels that plans set. owner is namespace/name of the Instance. The user sees
// only objects of kinds that the user may list.
func (u *uninstall) leftoversOfEarlier(ctx context.Context, owner string) (*leftovers, error) {
	_, name, _ := strings.Cut(owner, "/")
	l := &leftovers{instance: name, limit: u.Limit, ofInstance: func(object *unstructured.Unstructured) bool {
		if names := api.OwnerNames(object); len(names) > 0 {
			return slices.Contains(names, owner)
		}
		// Objects of earlier releases do not tell the namespace of the Instance.
		return len(api.Owners(object)) > 0 && object.GetLabels()[api.InstanceLabel] == name
	}}
	documents, err := l.connect(&u.connection)
	if err != nil {
		return nil, err
	}
	resources, err := clusterScoped(documents)
	if err != nil {
		return nil, err
	}
	selector := metav1.ListOptions{LabelSelector: api.HeritageLabel + "=" + api.Heritage}
	for _, resource := range resources {
		list, err := l.client.Resource(resource).List(ctx, selector)
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		for i := range list.Items {
			if l.ofInstance(&list.Items[i]) {
				l.objects = append(l.objects, &list.Items[i])
			}
		}
	}
	return l, nil
}

// clusterScoped returns the cluster-scoped resources whose objects can be listed and deleted, each
// in the version that the server prefers.
func clusterScoped(documents discovery.DiscoveryInterface) ([]schema.GroupVersionResource, error) {
	lists, err := documents.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("find the cluster-scoped kinds: %w", err)
	}
	var all []schema.GroupVersionResource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for i := range list.APIResources {
			resource := &list.APIResources[i]
			if !resource.Namespaced && slices.Contains(resource.Verbs, "list") && slices.Contains(resource.Verbs, "delete") {
				all = append(all, version.WithResource(resource.Name))
			}
		}
	}
	return all, nil
}
