package garbage

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/reconcile"
)

// collect does what the owners of an object, or its own deletion, ask for.
func (c *collector) collect(ctx context.Context, uid types.UID) error {
	o := c.graph.get(uid)
	switch {
	case o == nil:
		return nil
	case o.deleting && o.orphan:
		return c.orphan(ctx, o)
	case o.deleting && o.foreground:
		return c.await(ctx, o)
	case o.deleting || len(o.owners) == 0:
		return nil
	}
	found, err := c.judge(ctx, o)
	if err != nil || found.undecided {
		return err
	}
	if found.solid > 0 {
		if len(found.lost) > 0 {
			return c.detach(ctx, o, found.lost)
		}
		if found.unseen {
			// Nobody tells when an owner goes that no watch has shown.
			return reconcile.ErrNotYet
		}
		return nil
	}
	policy := metav1.DeletePropagationBackground
	switch {
	case found.waiting > 0 && c.hasDependents(o):
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

// verdict sums up the references of an object.
type verdict struct {
	solid, waiting int
	// lost are the owners that are gone or wait for their dependents to go.
	lost []types.UID
	// unseen says that a solid owner was not shown by a watch, and undecided
	// that nothing can be said, so that the object stays.
	unseen, undecided bool
}

func (c *collector) judge(ctx context.Context, o *object) (verdict, error) {
	var v verdict
	for _, ref := range o.owners {
		k := c.kinds.lookup(groupKindOf(ref), o.uid)
		if k == nil && c.graph.saw(o, ref) {
			// A kind that went with its objects is not there to be asked.
			v.lost = append(v.lost, ref.UID)
			continue
		}
		// No object outside namespaces belongs to one inside; Kubernetes leaves
		// those alone that say so.
		if k == nil || k.namespaced && o.namespace == "" {
			return verdict{undecided: true}, nil
		}
		at := place{GroupKind: k.groupKind(), name: ref.Name}
		if k.namespaced {
			at.namespace = o.namespace
		}
		found := c.graph.standing(o, ref, at)
		if found == unknown {
			var err error
			if found, err = c.ask(ctx, k, ref.UID, at); err != nil {
				return v, err
			}
			v.unseen = v.unseen || found == solid
		}
		switch found {
		case solid:
			v.solid++
		case waiting:
			v.waiting++
			v.lost = append(v.lost, ref.UID)
		default:
			v.lost = append(v.lost, ref.UID)
		}
	}
	return v, nil
}

// ask reads an owner from the server.
func (c *collector) ask(ctx context.Context, k *kind, owner types.UID, at place) (standing, error) {
	meta, err := c.config.Metadata.Resource(k.GroupVersionResource).Namespace(at.namespace).Get(ctx, at.name, metav1.GetOptions{})
	switch {
	case isGone(err) || err == nil && meta.UID != owner:
		c.graph.setAbsent(owner, at)
		return dangling, nil
	case err != nil:
		return unknown, fmt.Errorf("read owner %s %s: %w", k.kind, at.name, err)
	case newObject(k, meta).awaits():
		return waiting, nil
	}
	return solid, nil
}

// isGone reports whether an error says that the object is not there. A server
// that does not serve the kind any more says nothing about its objects.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

func (c *collector) hasDependents(o *object) bool {
	return len(c.graph.dependents(o.uid, anyDependent)) > 0
}

// remove deletes an object that is still as it was when that was decided.
func (c *collector) remove(ctx context.Context, o *object, policy metav1.DeletionPropagation) error {
	err := c.objects(o).Delete(ctx, o.name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &o.uid, ResourceVersion: &o.version},
		PropagationPolicy: &policy,
	})
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("delete %s %s: %w", o.kind.kind, o.name, err)
}

// breakCycle lets the owners of an object go before it, if one of its own
// dependents waits for its deletion: each would wait for the other.
func (c *collector) breakCycle(ctx context.Context, o *object) error {
	if len(c.graph.dependents(o.uid, (*object).awaits)) == 0 {
		return nil
	}
	if !slices.ContainsFunc(o.owners, func(ref metav1.OwnerReference) bool { return o.blocks(ref.UID) }) {
		return nil
	}
	return c.unblock(ctx, o)
}
