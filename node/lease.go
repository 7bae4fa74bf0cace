package node

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

const (
	// leaseSeconds is how long a Lease is valid after its renewal, as in the kubelet.
	leaseSeconds = 40
	// leaseHolder begins the holder of a Lease that an agent renews. The holder of the
	// Lease of a kubelet is the name of the node.
	leaseHolder = "holdfast-node/"
)

// nodeLease is the Lease of a node, which tells the server that the agent is alive.
type nodeLease struct {
	// last is the Lease as this agent wrote it last, or nil.
	last *coordinationv1.Lease
}

// renew creates or renews the Lease of an agent. It returns a conflict, and writes
// nothing, if another process holds the Lease.
func (l *nodeLease) renew(ctx context.Context, a *Agent) error {
	leases := a.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	next := l.last
	l.last = nil // read the Lease again after an error
	if next == nil {
		found, err := leases.Get(ctx, a.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			found = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: a.Name}}
			found.Spec = a.leaseSpec()
			l.last, err = leases.Create(ctx, found, metav1.CreateOptions{})
			return err
		case err != nil:
			return fmt.Errorf("lease of node %s: %w", a.Name, err)
		case heldElsewhere(found, a):
			holder := ptr.Deref(found.Spec.HolderIdentity, "")
			return apierrors.NewConflict(schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}, a.Name,
				fmt.Errorf("it is held by %q", holder))
		}
		next = found
	}
	next.Spec = a.leaseSpec()
	renewed, err := leases.Update(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("lease of node %s: %w", a.Name, err)
	}
	l.last = renewed
	return nil
}

func (a *Agent) leaseSpec() coordinationv1.LeaseSpec {
	return coordinationv1.LeaseSpec{
		HolderIdentity:       ptr.To(leaseHolder + a.Name),
		LeaseDurationSeconds: ptr.To[int32](leaseSeconds),
		RenewTime:            &metav1.MicroTime{Time: a.Clock.Now()},
	}
}

// heldElsewhere reports whether another process holds a Lease that is still valid.
func heldElsewhere(lease *coordinationv1.Lease, a *Agent) bool {
	spec := lease.Spec
	if ptr.Deref(spec.HolderIdentity, "") == leaseHolder+a.Name || spec.RenewTime == nil {
		return false
	}
	valid := time.Duration(ptr.Deref(spec.LeaseDurationSeconds, leaseSeconds)) * time.Second
	return a.Clock.Now().Before(spec.RenewTime.Add(valid))
}
