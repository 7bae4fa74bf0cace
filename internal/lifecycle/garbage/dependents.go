package garbage

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// orphansAtOnce is how many dependents of one owner are orphaned in parallel.
const orphansAtOnce = 16

// orphan removes the references to the owner from its dependents and then the finalizer
// orphan from the owner.
func (c *collector) orphan(ctx context.Context, owner *object) error {
	// Wait until all dependents are known. The collector would delete a dependent that
	// keeps its reference after the owner is gone.
	if err := c.checkUnread(ctx, owner, func(o *object) bool { return o.hasOwner(owner.uid) }); err != nil {
		return err
	}
	detached := map[types.UID]bool{}
	for {
		left := c.graph.dependents(owner.uid, func(o *object) bool { return !detached[o.uid] })
		if len(left) == 0 {
			break
		}
		for _, dependent := range left {
			detached[dependent.uid] = true
		}
		if err := c.detachAll(ctx, left, owner); err != nil {
			return err
		}
	}
	// The watches may not have shown all dependents that were created before the deletion.
	unseen, err := c.readDependents(ctx, owner)
	if err != nil {
		return err
	}
	if err := c.detachAll(ctx, unseen, owner); err != nil {
		return err
	}
	return c.dropFinalizer(ctx, owner, metav1.FinalizerOrphanDependents)
}

// detachAll removes the references to the owner from objects.
func (c *collector) detachAll(ctx context.Context, objects []*object, owner *object) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(orphansAtOnce)
	for _, o := range objects {
		group.Go(func() error { return c.detach(groupCtx, o, []types.UID{owner.uid}) })
	}
	return group.Wait()
}

// awaitDependents processes an owner that is deleted in the foreground. If dependents
// block its deletion, awaitDependents enqueues those that are not being deleted yet. It does not wait for kept dependents, and not for
// cluster-scoped objects if the owner is namespaced: their references are not valid, so the collector never deletes them.
// Otherwise it removes the finalizer foregroundDeletion.
func (c *collector) awaitDependents(ctx context.Context, owner *object) error {
	blocks := func(o *object) bool { return o.blocks(owner.uid) && (owner.namespace == "" || o.namespace != "") }
	blocking := c.graph.dependents(owner.uid, func(o *object) bool { return blocks(o) && !c.graph.isKept(o) })
	for _, dependent := range blocking {
		if !dependent.deleting {
			c.loop.Add(dependent.uid)
		}
	}
	if len(blocking) > 0 {
		return nil
	}
	if err := c.checkUnread(ctx, owner, blocks); err != nil {
		return err
	}
	return c.dropFinalizer(ctx, owner, metav1.FinalizerDeleteDependents)
}

// detach removes the references to the given owners from an object.
func (c *collector) detach(ctx context.Context, o *object, owners []types.UID) error {
	return c.changeOwners(ctx, o, func(refs []metav1.OwnerReference) []metav1.OwnerReference {
		return slices.DeleteFunc(refs, func(ref metav1.OwnerReference) bool { return slices.Contains(owners, ref.UID) })
	})
}

// unblock sets blockOwnerDeletion to false in all owner references of an object, so that
// no owner waits for it.
func (c *collector) unblock(ctx context.Context, o *object) error {
	return c.changeOwners(ctx, o, func(refs []metav1.OwnerReference) []metav1.OwnerReference {
		for i := range refs {
			refs[i].BlockOwnerDeletion = new(bool)
		}
		return refs
	})
}
