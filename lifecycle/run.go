package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/lifecycle/garbage"
	"holdfast.dev/holdfast/lifecycle/quota"
)

// userAgent is the name under which the controllers write, in audit logs and
// managed fields, and that of their Lease.
const userAgent = "holdfast-controllers"

// Config says how the controllers reach the API server, and as whom they stand
// for election.
type Config struct {
	// Client is the way to the API server, with the rights of an administrator.
	// It is copied; its rate limit is not used.
	Client *rest.Config
	// Identity tells this process from its replicas. One that survives a restart
	// takes up its own Lease at once; empty is the host's name with a random part.
	Identity string
	// RootCA is the certificate, in PEM, that clients of the API server trust. It
	// is kept in the ConfigMap kube-root-ca.crt of every namespace; empty leaves
	// those alone.
	RootCA []byte
	// Led are run with the controllers, while this process leads. Each returns
	// when its context ends.
	Led []func(context.Context)
}

// Run stands for election and, while this process is the leader, runs the
// controllers. It blocks until ctx ends, stops the controllers, hands the Lease
// to the replicas and returns nil; its errors are those of a config that cannot
// work. A Lease that is lost stops the controllers until it is won again.
func Run(ctx context.Context, config Config) error {
	clients, err := newClients(config.Client)
	if err != nil {
		return err
	}
	defer clients.close()
	election := Election{Client: config.Client, Namespace: metav1.NamespaceSystem, Name: userAgent, Identity: config.Identity}
	return Lead(ctx, election, func(ctx context.Context) error { return clients.lead(ctx, config) })
}

// clients are the ways to the API server, over one connection.
type clients struct {
	http      *http.Client
	typed     kubernetes.Interface
	metadata  metadata.Interface
	discovery discovery.DiscoveryInterfaceWithContext
}

func newClients(config *rest.Config) (*clients, error) {
	if config == nil {
		return nil, errors.New("client of the controllers: required")
	}
	config = rest.CopyConfig(config)
	config.UserAgent = userAgent
	// The server's own limits hold; a second limit here would only add delay.
	config.QPS, config.RateLimiter = -1, nil

	c := &clients{}
	var err error
	if c.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, fmt.Errorf("client of the controllers: %w", err)
	}
	if c.typed, err = kubernetes.NewForConfigAndClient(config, c.http); err != nil {
		return nil, fmt.Errorf("client of the controllers: %w", err)
	}
	if c.metadata, err = metadata.NewForConfigAndClient(config, c.http); err != nil {
		return nil, fmt.Errorf("metadata client of the controllers: %w", err)
	}
	if c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, c.http); err != nil {
		return nil, fmt.Errorf("discovery client of the controllers: %w", err)
	}
	return c, nil
}

func (c *clients) close() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

// lead runs the controllers until ctx ends.
func (c *clients) lead(ctx context.Context, config Config) error {
	ctx, cancel := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactory(c.typed, 0)
	var beside sync.WaitGroup
	defer func() {
		cancel()
		factory.Shutdown()
		beside.Wait()
	}()
	// Who collects garbage watches every kind, and so counts for the quotas too.
	ledger := quota.NewLedger()
	beside.Go(func() {
		garbage.Run(ctx, garbage.Config{Metadata: c.metadata, Discovery: c.discovery, Census: ledger})
	})
	for _, led := range config.Led {
		beside.Go(func() { led(ctx) })
	}
	controllers := []controller{newNamespaces(c), newPods(c), newAccounts(c), newQuotas(c, ledger)}
	if len(config.RootCA) > 0 {
		controllers = append(controllers, newRootCAs(c, config.RootCA))
	}
	return runControllers(ctx, factory, controllers)
}
