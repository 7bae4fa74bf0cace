package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/lifecycle/garbage"
)

const (
	// kindsAtOnce is how many kinds of one namespace are deleted in parallel.
	kindsAtOnce = 16
	// objectsAtOnce is how many objects of one kind are deleted in parallel.
	objectsAtOnce = 16
	// errorsShown is how many errors about the objects of one kind the status of a namespace shows.
	errorsShown = 10
	// pageSize is the limit of one list request.
	pageSize = 500
	// listTimeout bounds one list request.
	listTimeout = 10 * time.Second
)

// content deletes the objects of all kinds in a namespace.
type content struct {
	metadata  metadata.Interface
	discovery discovery.DiscoveryInterfaceWithContext
	// stored reads custom resources, and the objects of kinds that the API cannot list. It may
	// be nil.
	stored garbage.Stored
	// storageVersion may be nil.
	storageVersion garbage.StorageVersion
}

// kind is a namespaced kind.
type kind struct {
	schema.GroupVersionResource
}

// remove deletes all objects in a namespace and reports which objects it found and which
// are left. As in Kubernetes, it deletes pods first, and other objects only when all pods
// are gone, because pods may use them.
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
	results := make([]result, len(kinds))
	var group errgroup.Group
	group.SetLimit(kindsAtOnce)
	for i, k := range kinds {
		group.Go(func() error {
			results[i] = c.removeKind(ctx, k, namespace)
			return nil
		})
	}
	_ = group.Wait() // the errors are in results
	for i, k := range kinds {
		r.add(k, results[i])
	}
	return r
}

func isPods(k kind) bool {
	return k.GroupVersionResource == corev1.SchemeGroupVersion.WithResource("pods")
}

// kinds reads the namespaced kinds from discovery. It does not cache them, because a kind
// that was just defined may already have objects. It costs two requests.
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
			kinds = append(kinds, kind{c.storageVersion.Of(gv.WithResource(resource.Name))})
		}
	}
	return kinds
}

// removeKind deletes the objects of one kind in a namespace.
func (c content) removeKind(ctx context.Context, k kind, namespace string) result {
	if c.isEmpty(ctx, k, namespace) {
		return result{}
	}
	objects := c.metadata.Resource(k.GroupVersionResource).Namespace(namespace)
	items, err := listAll(ctx, objects)
	if err != nil {
		return c.unreadable(ctx, k, namespace, err)
	}
	if len(items) == 0 {
		return result{}
	}
	if slices.ContainsFunc(items, func(item metav1.PartialObjectMetadata) bool { return item.DeletionTimestamp == nil }) {
		refused := deleteAll(ctx, objects, items)
		if refused != nil && !keep.IsRefusal(refused) {
			return count(items, refused)
		}
		if items, err = listAll(ctx, objects); err != nil {
			return result{found: true, err: err}
		}
		if refused != nil {
			// The others are deleted. The condition of the namespace names those that must be kept.
			return count(items, refused)
		}
	}
	if slices.ContainsFunc(items, overdue) {
		// The wording is that of Kubernetes.
		err = fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %v", namespace, k.GroupVersionResource)
	}
	return count(items, err)
}

// isEmpty reports whether a namespace surely has no objects of a custom resource. Most of
// them have none in most namespaces, and a request to the API would compile the definition and fill a
// watch cache.
func (c content) isEmpty(ctx context.Context, k kind, namespace string) bool {
	if c.stored == nil || !c.stored.Has(k.GroupVersionResource) {
		return false
	}
	list, err := c.stored.List(ctx, k.GroupResource(), namespace)
	return err == nil && len(list.Items) == 0
}

// unreadable returns the result for a kind that the API cannot list. If no object of the kind
// is stored in the namespace, the kind does not matter for the namespace.
func (c content) unreadable(ctx context.Context, k kind, namespace string, err error) result {
	err = fmt.Errorf("%s cannot be read: %w", k.GroupResource(), err)
	if c.stored == nil {
		return result{err: err}
	}
	list, readErr := c.stored.List(ctx, k.GroupResource(), namespace)
	switch {
	case readErr != nil:
		return result{err: errors.Join(err, readErr)}
	case len(list.Items) == 0:
		return result{}
	}
	return count(list.Items, err)
}

// overdue reports whether the object should be gone: it has no finalizer, and its grace
// period is over.
func overdue(item metav1.PartialObjectMetadata) bool {
	return len(item.Finalizers) == 0 && (item.DeletionTimestamp == nil || item.DeletionTimestamp.Time.Before(time.Now()))
}

// deleteAll deletes objects that were listed. It names each by its UID and does not delete the collection: a namespace of this name may
// have been created anew when the server receives a request of a process that was slow, and the new objects stay.
func deleteAll(ctx context.Context, objects metadata.ResourceInterface, items []metav1.PartialObjectMetadata) error {
	// The dependents of an object are in the same namespace and deleted, too. So they
	// need not be orphaned or waited for.
	background := metav1.DeletePropagationBackground
	var mu sync.Mutex
	var errs []error
	var group errgroup.Group
	group.SetLimit(objectsAtOnce)
	for _, item := range items {
		if item.DeletionTimestamp != nil {
			continue
		}
		group.Go(func() error {
			err := objects.Delete(ctx, item.Name, metav1.DeleteOptions{
				PropagationPolicy: &background,
				Preconditions:     metav1.NewUIDPreconditions(string(item.UID)),
			})
			if err != nil && !apierrors.IsNotFound(err) && (!apierrors.IsConflict(err) || keep.IsRefusal(err)) {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	return joined(errs)
}

// joined joins the errors about the objects of one kind, and names ten of them at most. Errors that are no refusals come first: those are tried
// again.
func joined(errs []error) error {
	others := slices.DeleteFunc(slices.Clone(errs), keep.IsRefusal)
	if len(others) > 0 {
		errs = others
	}
	if more := len(errs) - errorsShown; more > 0 {
		errs = append(errs[:errorsShown:errorsShown], fmt.Errorf("and %d more objects", more))
	}
	return errors.Join(errs...)
}

// listAll returns the metadata of all objects of a kind. It returns none if the kind was
// removed after discovery.
func listAll(ctx context.Context, objects metadata.ResourceInterface) ([]metav1.PartialObjectMetadata, error) {
	var items []metav1.PartialObjectMetadata
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := listPage(ctx, objects, options)
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

// listPage lists one page of objects. It does not wait for a conversion webhook that does not
// answer.
func listPage(ctx context.Context, objects metadata.ResourceInterface, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return objects.List(ctx, options)
}
