package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

const (
	// kindsAtOnce bounds the requests under way for one namespace.
	kindsAtOnce = 16
	// pageSize bounds one answer to a list of what a namespace holds.
	pageSize = 500
)

// content knows what namespaces hold, of every kind the server has now.
type content struct {
	metadata  metadata.Interface
	discovery discovery.DiscoveryInterfaceWithContext
}

// kind is one resource of which a namespace may hold objects.
type kind struct {
	schema.GroupVersionResource
	// collection says that all its objects can be deleted in one request.
	collection bool
}

// remove asks for the deletion of everything in a namespace and reports what
// there was and what is left. Pods go first, as in Kubernetes: what they use
// stays until they are gone.
func (c content) remove(ctx context.Context, namespace string) *report {
	r := &report{empty: true, remaining: map[schema.GroupResource]int{}, finalizers: map[string]int{}}
	kinds := c.kinds(ctx, r)
	if i := slices.IndexFunc(kinds, isPods); i >= 0 {
		pods := c.removeKind(ctx, kinds[i], namespace)
		r.add(kinds[i], pods)
		if pods.remaining > 0 || pods.err != nil {
			return r
		}
		kinds = slices.Delete(kinds, i, i+1)
	}
	tallies := make([]tally, len(kinds))
	var group errgroup.Group
	group.SetLimit(kindsAtOnce)
	for i, k := range kinds {
		group.Go(func() error {
			tallies[i] = c.removeKind(ctx, k, namespace)
			return nil
		})
	}
	_ = group.Wait() // every error is in its tally
	for i, k := range kinds {
		r.add(k, tallies[i])
	}
	return r
}

func isPods(k kind) bool {
	return k.GroupVersionResource == corev1.SchemeGroupVersion.WithResource("pods")
}

// kinds asks the server for its namespaced kinds, each time: a kind that was
// added a moment ago may have objects already. It costs two requests.
func (c content) kinds(ctx context.Context, r *report) []kind {
	lists, err := c.discovery.ServerPreferredNamespacedResourcesWithContext(ctx)
	r.discovery = err
	var kinds []kind
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"delete", "list"}}, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			r.parsing = errors.Join(r.parsing, err)
			continue
		}
		for _, resource := range list.APIResources {
			kinds = append(kinds, kind{
				GroupVersionResource: gv.WithResource(resource.Name),
				collection:           slices.Contains(resource.Verbs, "deletecollection"),
			})
		}
	}
	return kinds
}

// removeKind asks for the deletion of the objects of one kind.
func (c content) removeKind(ctx context.Context, k kind, namespace string) tally {
	objects := c.metadata.Resource(k.GroupVersionResource).Namespace(namespace)
	items, err := listAll(ctx, objects)
	if err != nil || len(items) == 0 {
		return tally{err: err}
	}
	if slices.ContainsFunc(items, func(item metav1.PartialObjectMetadata) bool { return item.DeletionTimestamp == nil }) {
		if err := deleteAll(ctx, objects, k, items); err != nil {
			return count(items, err)
		}
		if items, err = listAll(ctx, objects); err != nil {
			return tally{found: true, err: err}
		}
	}
	if slices.ContainsFunc(items, overdue) {
		// Kubernetes' words.
		err = fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %v", namespace, k.GroupVersionResource)
	}
	return count(items, err)
}

// overdue reports whether nothing explains that an object is still there: no
// finalizer holds it, and no grace period runs.
func overdue(item metav1.PartialObjectMetadata) bool {
	return len(item.Finalizers) == 0 && (item.DeletionTimestamp == nil || item.DeletionTimestamp.Time.Before(time.Now()))
}

func deleteAll(ctx context.Context, objects metadata.ResourceInterface, k kind, items []metav1.PartialObjectMetadata) error {
	// Dependents are in the namespace too: nothing is orphaned or waited for.
	background := metav1.DeletePropagationBackground
	if k.collection {
		return objects.DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
	}
	var errs []error
	for _, item := range items {
		if item.DeletionTimestamp != nil {
			continue
		}
		err := objects.Delete(ctx, item.Name, metav1.DeleteOptions{
			PropagationPolicy: &background,
			Preconditions:     metav1.NewUIDPreconditions(string(item.UID)),
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// listAll reads the metadata of all objects. A kind that went away since it was
// discovered has none.
func listAll(ctx context.Context, objects metadata.ResourceInterface) ([]metav1.PartialObjectMetadata, error) {
	var items []metav1.PartialObjectMetadata
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := objects.List(ctx, options)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.Continue == "" {
			return items, nil
		}
		options.Continue = page.Continue
	}
}
