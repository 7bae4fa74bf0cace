package lifecycle

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"holdfast.dev/holdfast/connection"
)

const (
	// A leader that dies is replaced within 15 seconds: others look after one to
	// 2.2 retryPeriods, once to see its last renewal and once more after it ran
	// out. A leader that cannot renew has stopped before anybody else may start.
	leaseDuration = 8 * time.Second
	renewDeadline = 5 * time.Second
	retryPeriod   = 1500 * time.Millisecond

	// leaseTimeout is for one request, so that one without an answer leaves time
	// for another try, and a shutdown does not wait for a server that is gone.
	leaseTimeout = 2 * time.Second
)

// Election is what replicas stand for.
type Election struct {
	// Client is the way to the API server. It is copied.
	Client *rest.Config
	// Namespace and Name are those of the Lease.
	Namespace, Name string
	// Identity tells this process from its replicas. One that survives a restart
	// takes up its own Lease at once; empty is the host's name with a random part.
	Identity string
}

// Lead stands for election and calls lead whenever it is won, with a context that
// ends with the Lease or with ctx. It blocks until ctx ends, hands the Lease to the
// replicas when lead has returned, and returns nil; its errors are those of an
// election that cannot work, and those of lead.
func Lead(ctx context.Context, election Election, lead func(context.Context) error) error {
	if election.Identity == "" {
		var err error
		if election.Identity, err = randomIdentity(); err != nil {
			return err
		}
	}
	server, err := connection.Open(election.Client, connection.Options{UserAgent: election.Name, Timeout: leaseTimeout})
	if err != nil {
		return fmt.Errorf("client of the election: %w", err)
	}
	defer server.Close()
	candidate := &candidate{lock: &ownLease{Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: election.Namespace, Name: election.Name},
		Client:     server.Typed.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: election.Identity},
	}}}
	for ctx.Err() == nil {
		if err := candidate.stand(ctx, lead); err != nil {
			return err
		}
	}
	return nil
}

func randomIdentity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("identity: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}

// candidate stands for election under one identity.
type candidate struct{ lock resourcelock.Interface }

// stand waits for the lease and calls lead with a context that ends with the
// lease or with ctx. It gives the lease back after lead has returned, so that
// two leaders never work side by side in a handover.
func (c *candidate) stand(ctx context.Context, lead func(context.Context) error) error {
	elected := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name:            c.lock.Describe(),
		Lock:            c.lock,
		LeaseDuration:   leaseDuration,
		RenewDeadline:   renewDeadline,
		RetryPeriod:     retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(lease context.Context) { elected <- lease },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("election: %w", err)
	}

	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		elector.Run(holding)
	}()
	defer func() {
		release()
		<-over
	}()

	select {
	case <-ctx.Done():
		return nil
	case lease := <-elected:
		leading, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(lease, cancel)()
		return lead(leading)
	}
}

// ownLease is a lock that gives back only what is its own. A leader that was
// replaced without noticing would otherwise take the lease from its successor:
// a release reads who holds it and does not compare.
type ownLease struct {
	resourcelock.Interface
	holder string
}

// Get implements resourcelock.Interface.
func (l *ownLease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil {
		l.holder = record.HolderIdentity
	}
	return record, raw, err
}

// Update implements resourcelock.Interface.
func (l *ownLease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" && l.holder != l.Identity() {
		return fmt.Errorf("release lease: it is held by %s", l.holder)
	}
	return l.Interface.Update(ctx, record)
}
