package node

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	// leaseSeconds is how long a Lease is valid after its renewal, as in the kubelet.
	leaseSeconds = 40
	// leaseHolder begins the holder of a Lease that an agent renews. The name of the node and the ID
	// of the root follow, with a slash between them. The holder of the Lease of a kubelet is the name
	// of the node.
	leaseHolder = "holdfast-node/"
	// otherPoll is how often an agent reads a Lease that another agent holds. An agent that has not
	// renewed the Lease for otherPatience has ended.
	otherPoll     = 4 * time.Second
	otherPatience = 16 * time.Second
)

// nodeLease is the Lease of a node, which tells the server that the agent is alive.
type nodeLease struct {
	// node is the UID of the Node.
	node types.UID
	// last is the Lease as this agent wrote it last, or nil.
	last *coordinationv1.Lease
	// held is true if this agent has written the Lease before.
	held  bool
	other otherAgent
}

// otherAgent is what is known about another agent of the same node.
type otherAgent struct {
	holder string
	// renewed is the time in the Lease, by the clock of the other agent. since is when this agent saw it first.
	renewed, since time.Time
}

// otherAgentError is the error of an agent if another one renews the Lease of its node.
type otherAgentError struct{ node, holder string }

// Error implements error.
func (e *otherAgentError) Error() string {
	return fmt.Sprintf("another agent of node %s runs, with another root: it renews the Lease of the node as %q; stop one of them, "+
		"or give one another --name", e.node, e.holder)
}

func isOtherAgent(err error) bool {
	var other *otherAgentError
	return errors.As(err, &other)
}

// renew creates or renews the Lease of an agent, and returns the time until the next call. It
// returns a conflict, and writes nothing, if a kubelet holds the Lease, and an otherAgentError if
// another agent renews it.
func (l *nodeLease) renew(ctx context.Context, a *Agent) (time.Duration, error) {
	leases := a.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	next := l.last
	l.last = nil // read the Lease again after an error
	if next == nil {
		found, err := leases.Get(ctx, a.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			found = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: a.Name}}
			l.last, err = leases.Create(ctx, l.fill(a, found), metav1.CreateOptions{})
			l.held = l.held || err == nil
			return leaseEvery, err
		case err != nil:
			return 0, fmt.Errorf("lease of node %s: %w", a.Name, err)
		}
		if wait, err := l.await(a, found); wait > 0 || err != nil {
			return wait, err
		}
		next = found
	}
	renewed, err := leases.Update(ctx, l.fill(a, next), metav1.UpdateOptions{})
	if err != nil {
		return 0, fmt.Errorf("lease of node %s: %w", a.Name, err)
	}
	l.last, l.held, l.other = renewed, true, otherAgent{}
	return leaseEvery, nil
}

// fill sets what this agent writes to the Lease. The garbage collector deletes the Lease with the
// Node, and the agent then creates both again.
func (l *nodeLease) fill(a *Agent, lease *coordinationv1.Lease) *coordinationv1.Lease {
	lease.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: a.Name, UID: l.node}}
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity:       ptr.To(a.leaseHolder()),
		LeaseDurationSeconds: ptr.To[int32](leaseSeconds),
		RenewTime:            &metav1.MicroTime{Time: a.Clock.Now()},
	}
	return lease
}

// leaseHolder returns the holder of a Lease that this agent renews. It stays the same with the root.
func (a *Agent) leaseHolder() string {
	id := hmac.New(sha256.New, a.digest.key)
	_, _ = id.Write([]byte(leaseHolder)) // a hash returns no error
	return leaseHolder + a.Name + "/" + hex.EncodeToString(id.Sum(nil)[:8])
}

// await returns how long to wait before this agent may renew a Lease, and an error if another process
// renews it.
func (l *nodeLease) await(a *Agent, lease *coordinationv1.Lease) (time.Duration, error) {
	spec, now := lease.Spec, a.Clock.Now()
	holder := ptr.Deref(spec.HolderIdentity, "")
	switch {
	// An agent of an earlier version is the holder without an ID.
	case spec.RenewTime == nil, holder == a.leaseHolder(), holder == leaseHolder+a.Name:
		return 0, nil
	case !strings.HasPrefix(holder, leaseHolder):
		valid := time.Duration(ptr.Deref(spec.LeaseDurationSeconds, leaseSeconds)) * time.Second
		if !now.Before(spec.RenewTime.Add(valid)) {
			return 0, nil
		}
		return 0, apierrors.NewConflict(schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}, a.Name,
			fmt.Errorf("it is held by %q", holder))
	}
	known := l.other
	if known.holder != holder || !known.renewed.Equal(spec.RenewTime.Time) {
		l.other = otherAgent{holder: holder, renewed: spec.RenewTime.Time, since: now}
	}
	switch {
	case known.holder == holder && !known.renewed.Equal(spec.RenewTime.Time):
		return otherPoll, &otherAgentError{node: a.Name, holder: holder}
	case now.Sub(l.other.since) < otherPatience:
		return otherPoll, nil
	}
	return 0, nil
}
