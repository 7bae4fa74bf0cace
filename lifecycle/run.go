package lifecycle

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/connection"
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
	server, err := connection.Open(config.Client, connection.Options{UserAgent: userAgent})
	if err != nil {
		return fmt.Errorf("client of the controllers: %w", err)
	}
	defer server.Close()
	election := Election{Client: config.Client, Namespace: metav1.NamespaceSystem, Name: userAgent, Identity: config.Identity}
	return Lead(ctx, election, func(ctx context.Context) error { return lead(ctx, config, server) })
}

// lead runs the controllers until ctx ends.
func lead(ctx context.Context, config Config, server *connection.Connection) error {
	ctx, cancel := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactory(server.Typed, 0)
	var beside sync.WaitGroup
	defer func() {
		cancel()
		factory.Shutdown()
		beside.Wait()
	}()
	// Who collects garbage watches every kind, and so counts for the quotas too.
	ledger := quota.NewLedger()
	beside.Go(func() {
		garbage.Run(ctx, garbage.Config{Metadata: server.Metadata, Discovery: server.Discovery, Census: ledger})
	})
	for _, led := range config.Led {
		beside.Go(func() { led(ctx) })
	}
	controllers := []controller{newNamespaces(server), newPods(server), newAccounts(server), newQuotas(server, ledger)}
	if len(config.RootCA) > 0 {
		controllers = append(controllers, newRootCAs(server, config.RootCA))
	}
	return runControllers(ctx, factory, controllers)
}
