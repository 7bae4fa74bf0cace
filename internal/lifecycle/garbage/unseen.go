package garbage

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// kindsAtOnce is how many kinds are read in parallel for one owner.
	kindsAtOnce = 16
	// pageSize is the limit of one list request.
	pageSize = 500
)

// readDependents reads the dependents of an owner from the server. The graph may not have them: a watch is late, and an object that was
// created just before its owner was deleted is in no event yet.
func (c *collector) readDependents(ctx context.Context, owner *object) ([]*object, error) {
	c.monitorsMu.Lock()
	var kinds []*kind
	for k := range c.monitors {
		// Dependents of a namespaced owner are in its namespace.
		if owner.namespace == "" || k.namespaced {
			kinds = append(kinds, k)
		}
	}
	c.monitorsMu.Unlock()
	var mu sync.Mutex
	var found []*object
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(kindsAtOnce)
	for _, k := range kinds {
		group.Go(func() error {
			err := c.readObjects(groupCtx, k, owner.namespace, func(meta *metav1.PartialObjectMetadata) {
				if o := newObject(k, meta); o.hasOwner(owner.uid) {
					mu.Lock()
					defer mu.Unlock()
					found = append(found, o)
				}
			})
			if err != nil && !isMissing(err) {
				return fmt.Errorf("%s %s waits, because %s cannot be read: %w", owner.kind.kind, owner.name, k.GroupResource(), err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return found, nil
}

// readObjects reads the objects of a kind as they are stored now, in one namespace or, with an empty namespace, in all.
func (c *collector) readObjects(ctx context.Context, k *kind, namespace string, yield func(*metav1.PartialObjectMetadata)) error {
	if c.config.Stored != nil && (c.config.Stored.Has(k.GroupVersionResource) || c.failure(k) != nil) {
		// The stored owner references need no conversion. Of a kind that fails, checkUnread has read them before.
		stored, err := c.config.Stored.List(ctx, k.GroupResource(), namespace)
		for i := range stored.Items {
			yield(&stored.Items[i])
		}
		return err
	}
	objects := c.config.Metadata.Resource(k.GroupVersionResource).Namespace(namespace)
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := objects.List(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			yield(&page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}
