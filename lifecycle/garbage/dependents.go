package garbage

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/reconcile"
)

// orphansAtOnce bounds the requests under way for the orphans of one owner.
const orphansAtOnce = 16

// orphan takes an owner out of the references of its dependents and lets it go.
func (c *collector) orphan(ctx context.Context, owner *object) error {
	// An orphan that is overlooked would be collected.
	if !c.allListed() {
		return reconcile.ErrNotYet
	}
	detached := map[types.UID]bool{}
	for {
		left := c.graph.dependents(owner.uid, func(o *object) bool { return !detached[o.uid] })
		if len(left) == 0 {
			return c.dropFinalizer(ctx, owner, metav1.FinalizerOrphanDependents)
		}
		group, groupCtx := errgroup.WithContext(ctx)
		group.SetLimit(orphansAtOnce)
		for _, dependent := range left {
			detached[dependent.uid] = true
			group.Go(func() error { return c.detach(groupCtx, dependent, []types.UID{owner.uid}) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
}

// await lets an owner go that is deleted in the foreground, when nothing blocks
// it any more.
func (c *collector) await(ctx context.Context, owner *object) error {
	if !c.allListed() {
		return reconcile.ErrNotYet
	}
	blocking := c.graph.dependents(owner.uid, func(o *object) bool { return o.blocks(owner.uid) })
	if len(blocking) == 0 {
		return c.dropFinalizer(ctx, owner, metav1.FinalizerDeleteDependents)
	}
	for _, dependent := range blocking {
		if !dependent.deleting {
			c.loop.Add(dependent.uid)
		}
	}
	return nil
}

// detach takes owners out of the references of an object.
func (c *collector) detach(ctx context.Context, o *object, owners []types.UID) error {
	return c.changeOwners(ctx, o, func(refs []metav1.OwnerReference) []metav1.OwnerReference {
		return slices.DeleteFunc(refs, func(ref metav1.OwnerReference) bool { return slices.Contains(owners, ref.UID) })
	})
}

// unblock has no owner of an object wait for it.
func (c *collector) unblock(ctx context.Context, o *object) error {
	return c.changeOwners(ctx, o, func(refs []metav1.OwnerReference) []metav1.OwnerReference {
		for i := range refs {
			refs[i].BlockOwnerDeletion = new(bool)
		}
		return refs
	})
}
