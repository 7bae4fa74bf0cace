package garbage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/reconcile"
	"holdfast.dev/holdfast/internal/replacement"
)

// collect processes one object. If the object is being deleted, collect orphans its
// dependents or waits for them, as its finalizers require. Otherwise, if the object has
// owner references, collect deletes it if none of the references is solid. If some are
// solid, collect removes the others, which are dangling or waiting. References to owners that were replaced
// change as the record of the replacement says, before anything else.
func (c *collector) collect(ctx context.Context, uid types.UID) error {
	o := c.graph.get(uid)
	if o == nil {
		return nil
	}
	if c.failure(o.kind) != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, unreadTimeout)
		defer cancel()
	}
	switch {
	case o.deleting && o.orphan:
		return c.orphan(ctx, o)
	case o.deleting && o.foreground:
		return c.awaitDependents(ctx, o)
	case o.deleting || len(o.owners) == 0:
		return nil
	}
	found, err := c.checkOwners(ctx, o)
	switch {
	case err != nil:
		return err
	case len(found.replaced) > 0:
		return c.follow(ctx, o, found.replaced)
	case found.undecided:
		return nil
	}
	if found.solid > 0 {
		if len(found.lost) > 0 {
			return c.detach(ctx, o, found.lost)
		}
		if found.unwatched {
			// The owner exists, but no watch has seen it, so no event will report its
			// deletion. Check it again later.
			return reconcile.ErrNotYet
		}
		return nil
	}
	policy := metav1.DeletePropagationBackground
	switch {
	case found.waiting > 0 && c.hasDependents(ctx, o):
		if err := c.breakCycle(ctx, o); err != nil {
			return err
		}
		policy = metav1.DeletePropagationForeground
	case o.orphan:
		policy = metav1.DeletePropagationOrphan
	case o.foreground:
		policy = metav1.DeletePropagationForeground
	}
	return c.remove(ctx, o, policy)
}

// ownerStates summarizes the owner references of an object.
type ownerStates struct {
	// solid and waiting count the references in these states.
	solid, waiting int
	// lost are the UIDs of the owners that do not exist or are waiting.
	lost []types.UID
	// replaced are the records of the owners that do not exist because they were replaced, and whose dependents stay.
	replaced []*replacement.Record
	// unwatched says that a solid owner was not seen by a watch.
	unwatched bool
	// undecided says that the state of an owner cannot be determined. The object must
	// not be deleted, and keeps its other references.
	undecided bool
}

// checkOwners determines the states of the owners of an object.
func (c *collector) checkOwners(ctx context.Context, o *object) (ownerStates, error) {
	var states ownerStates
	for _, ref := range o.owners {
		k := c.kinds.lookup(groupKindOf(ref), o.uid)
		if k == nil {
			gone, err := c.goneWithKind(ctx, o, ref)
			if err != nil {
				return states, err
			}
			if gone {
				if err := c.lose(ctx, o, ref, &states); err != nil {
					return states, err
				}
				continue
			}
		}
		// Leave the object alone if the kind of its owner is unknown. Also, like
		// Kubernetes, leave it alone if it is cluster-scoped and its owner is namespaced:
		// such a reference is invalid.
		if k == nil || k.namespaced && o.namespace == "" {
			states.undecided = true
			continue
		}
		key := k.ownerKey(o, ref)
		found := c.graph.ownerState(o, ref, key)
		if found == unknown {
			var err error
			if found, err = c.readOwner(ctx, k, ref.UID, key); err != nil {
				return states, err
			}
			states.unwatched = states.unwatched || found == solid
		}
		switch found {
		case solid:
			states.solid++
		case waiting:
			states.waiting++
			states.lost = append(states.lost, ref.UID)
		default:
			if err := c.lose(ctx, o, ref, &states); err != nil {
				return states, err
			}
		}
	}
	return states, nil
}

// lose adds an owner that does not exist.
func (c *collector) lose(ctx context.Context, o *object, ref metav1.OwnerReference, states *ownerStates) error {
	record, err := c.replacedOwner(ctx, o, ref)
	switch {
	case err != nil:
		return err
	case record != nil:
		states.replaced = append(states.replaced, record)
	default:
		states.lost = append(states.lost, ref.UID)
	}
	return nil
}

// goneWithKind reports whether an owner was deleted together with its kind. The API no
// longer has the kind. Either a watch has seen the deletion of the owner, or the owner is not
// stored.
func (c *collector) goneWithKind(ctx context.Context, o *object, ref metav1.OwnerReference) (bool, error) {
	if c.graph.sawDeletion(o, ref) {
		return true, nil
	}
	k := c.kinds.former(groupKindOf(ref))
	if k == nil || c.config.Stored == nil || k.namespaced && o.namespace == "" || !c.definitions.had(k.GroupResource()) {
		return false, nil
	}
	key := k.ownerKey(o, ref)
	stored, err := c.config.Stored.List(ctx, k.GroupResource(), key.namespace)
	if err != nil {
		return false, fmt.Errorf("read owner %s %s: %w", k.kind, ref.Name, err)
	}
	if slices.ContainsFunc(stored.Items, func(meta metav1.PartialObjectMetadata) bool { return meta.UID == ref.UID }) {
		return false, nil
	}
	c.graph.setAbsent(ref.UID, key)
	return true, nil
}

// readOwner reads an owner from the server and returns its state.
func (c *collector) readOwner(ctx context.Context, k *kind, owner types.UID, key objectKey) (state, error) {
	if c.failure(k) != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, unreadTimeout)
		defer cancel()
	}
	objects := c.config.Metadata.Resource(k.GroupVersionResource).Namespace(key.namespace)
	meta, err := objects.Get(ctx, key.name, metav1.GetOptions{})
	switch {
	case isMissing(err) || err == nil && meta.UID != owner:
		c.graph.setAbsent(owner, key)
		return dangling, nil
	case err != nil:
		return unknown, fmt.Errorf("read owner %s %s: %w", k.kind, key.name, err)
	case newObject(k, meta).waitsForDependents():
		return waiting, nil
	}
	return solid, nil
}

// isMissing reports whether the error says that the object does not exist. The error that
// the server does not have the kind is different: it says nothing about the object.
func isMissing(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// hasDependents reports whether an object has dependents. It also returns true if the object may
// have dependents of a kind that cannot be read.
func (c *collector) hasDependents(ctx context.Context, o *object) bool {
	if len(c.graph.dependents(o.uid, anyDependent)) > 0 {
		return true
	}
	err := c.checkUnread(ctx, o, func(dependent *object) bool { return dependent.hasOwner(o.uid) })
	return err != nil && !errors.Is(err, reconcile.ErrNotYet)
}

// remove deletes an object, unless it has changed since it was observed.
func (c *collector) remove(ctx context.Context, o *object, policy metav1.DeletionPropagation) error {
	if err := failpoint.Fail("garbage:remove"); err != nil {
		return err
	}
	err := c.objects(o).Delete(ctx, o.name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &o.uid, ResourceVersion: &o.version},
		PropagationPolicy: &policy,
	})
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	if keep.IsRefusal(err) {
		return c.leave(ctx, o, err)
	}
	return fmt.Errorf("delete %s %s: %w", o.kind.kind, o.name, err)
}

// breakCycle prevents a deadlock in which the object and its owner wait for each other. If
// a dependent of the object waits for its own dependents, the object may be one of them.
// Then breakCycle sets blockOwnerDeletion to false in the owner references of the object.
func (c *collector) breakCycle(ctx context.Context, o *object) error {
	if len(c.graph.dependents(o.uid, (*object).waitsForDependents)) == 0 {
		return nil
	}
	if !slices.ContainsFunc(o.owners, func(ref metav1.OwnerReference) bool { return o.blocks(ref.UID) }) {
		return nil
	}
	return c.unblock(ctx, o)
}
