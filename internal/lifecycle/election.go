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
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // registers the metrics of the election
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/connection"
)

const (
	// If the leader dies, another process takes over within 15 seconds. A candidate reads
	// the Lease every 1 to 2.2 retryPeriods. It has to see the last renewal, wait for
	// leaseDuration, and read the Lease once more. A leader that cannot renew its Lease
	// stops after renewDeadline, before another process may take over.
	leaseDuration = 8 * time.Second
	renewDeadline = 5 * time.Second
	retryPeriod   = 1500 * time.Millisecond

	// leaseTimeout limits one request for the Lease. After a request without a response,
	// there is time for another one before renewDeadline. A shutdown does not wait longer
	// for a server that does not respond.
	leaseTimeout = 2 * time.Second
)

// Election configures a leader election.
type Election struct {
	// Client connects to the API server. Lead copies it.
	Client *rest.Config
	// Namespace and Name identify the Lease.
	Namespace, Name string
	// Identity identifies this process. A process that has the same identity after a
	// restart becomes leader again without waiting for its old Lease to expire. If it is
	// empty, Lead uses the host name with a random suffix.
	Identity string
}

// Lead takes part in the leader election. Whenever this process becomes the leader, Lead
// calls lead, with a context that ends when the Lease is lost or ctx ends. When ctx ends,
// Lead waits until lead returns, releases the Lease, and returns nil. It returns an error
// if the election is misconfigured, or if lead returns one.
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
	candidate := &candidate{lease: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: election.Namespace, Name: election.Name},
		Client:     server.Typed.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: election.Identity},
	}}
	for ctx.Err() == nil {
		if err := candidate.run(ctx, lead); err != nil {
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

// candidate takes part in the election with one identity.
type candidate struct{ lease resourcelock.Interface }

// run waits until it holds the Lease and calls lead, with a context that ends when the
// Lease is lost or ctx ends. It releases the Lease only after lead has returned, so that
// there are never two leaders at the same time.
func (c *candidate) run(ctx context.Context, lead func(context.Context) error) error {
	elected := make(chan context.Context, 1)
	taken, take := context.WithCancel(context.Background())
	defer take()
	lock := &ownLease{Interface: c.lease, taken: take}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name:            lock.Describe(),
		Lock:            lock,
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

	// The elector releases the Lease when its context ends. So its context must not end
	// with ctx, but after lead has returned.
	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		elector.Run(holding)
	}()
	defer func() {
		release()
		<-stopped
	}()

	select {
	case <-ctx.Done():
		return nil
	case lease := <-elected:
		leading, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(lease, cancel)()
		defer context.AfterFunc(taken, cancel)()
		klog.InfoS("this process is the leader", "lease", lock.Describe())
		defer klog.InfoS("this process is no longer the leader", "lease", lock.Describe())
		return lead(leading)
	}
}

// ownLease is a lock that knows whether this process holds the Lease. It releases the Lease only
// then. Without that, a leader that was replaced without noticing would release the Lease of its
// successor: the elector does not check the holder when it releases a Lease.
type ownLease struct {
	resourcelock.Interface
	holder string
	// taken is called when another process has taken the Lease, as after a pause of this process.
	// The elector would only give up after renewDeadline.
	taken func()
}

// Get implements resourcelock.Interface.
func (l *ownLease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err != nil {
		return record, raw, err
	}
	if l.holder == l.Identity() && record.HolderIdentity != l.holder {
		l.taken()
	}
	l.holder = record.HolderIdentity
	return record, raw, nil
}

// Create implements resourcelock.Interface.
func (l *ownLease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.written(record, l.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface.
func (l *ownLease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" && l.holder != l.Identity() {
		return fmt.Errorf("release lease: it is held by %s", l.holder)
	}
	return l.written(record, l.Interface.Update(ctx, record))
}

// written remembers the holder of a Lease that was written.
func (l *ownLease) written(record resourcelock.LeaderElectionRecord, err error) error {
	if err == nil {
		l.holder = record.HolderIdentity
	}
	return err
}
