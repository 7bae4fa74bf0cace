package lifecycle

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/connection"
)

// The constants that determine how long a takeover by another leader takes, and the
// timeout of nodes.
const (
	LeaseDuration = leaseDuration
	RenewDeadline = renewDeadline
	RetryPeriod   = retryPeriod
	LeaseTimeout  = leaseTimeout
	NodeTimeout   = nodeTimeout
	Quarantine    = orphanQuarantine
)

// RunLeading runs the controllers as Run does, but without an election.
func RunLeading(ctx context.Context, config Config) error {
	server, err := connection.Open(config.Client, connection.Options{UserAgent: userAgent})
	if err != nil {
		return err
	}
	defer server.Close()
	return lead(ctx, config, server)
}

// NewPodReconciler returns the function that reconciles a pod in the first store. The second store has the
// nodes.
func NewPodReconciler(
	typed kubernetes.Interface, nodes metadata.Getter, store, existing cache.Store,
) func(context.Context, cache.ObjectName) (time.Duration, error) {
	return (&pods{typed: typed, nodes: nodes, store: store, existing: existing, quarantine: orphanQuarantine}).reconcile
}
