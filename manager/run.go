package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/lifecycle"
	"holdfast.dev/holdfast/operator/controller"
	"holdfast.dev/holdfast/operator/enforcement"
)

const (
	// Namespace has everything of the manager that lives in one.
	Namespace = "kudo-system"
	// Name is that of the manager: of its Lease, its account and its workload.
	Name = "kudo-manager"
	// Secret has the keys of the webhook.
	Secret = "kudo-webhook"
)

// ErrBuiltIn says that a server admits and runs operator packages itself. A second
// controller would run every plan twice.
var ErrBuiltIn = errors.New("this server admits and runs operator packages itself")

// Config says which cluster, and where the manager is reached.
type Config struct {
	// Client is the way to the API server, with the rights that package setup gives
	// the manager. It is copied; its rate limit is not used.
	Client *rest.Config
	// Webhook is where reviews come in, over TLS. It is closed by Run.
	Webhook net.Listener
	// Health is where /healthz, /readyz and /metrics are, in plain HTTP; nil is
	// nowhere. It is closed by Run.
	Health net.Listener
	// CertFile and KeyFile are the certificate of the webhook; empty is that of the
	// Secret.
	CertFile, KeyFile string
	// Unattended means that nobody may be there who runs workloads: an object
	// whose status nobody ever set is not waited for.
	Unattended bool
	// Identity tells this process from its replicas; empty is the host's name with
	// a random part.
	Identity string
	// Ready is called once, when reviews are answered; nil is for nobody.
	Ready func()
}

// Run answers reviews and, while this process leads and a webhook guards Instances,
// runs plans. It blocks until ctx ends. Its errors are those of a config that cannot
// work, and of a listener that broke.
func Run(ctx context.Context, config Config) error {
	defer closeAll(config.Webhook, config.Health)
	if config.Client == nil || config.Webhook == nil {
		return errors.New("manager: a client and a listener are required")
	}
	client := rest.CopyConfig(config.Client)
	client.UserAgent = Name
	client.QPS, client.RateLimiter = -1, nil
	connection, err := rest.HTTPClientFor(client)
	if err != nil {
		return fmt.Errorf("client of the manager: %w", err)
	}
	defer utilnet.CloseIdleConnectionsFor(connection.Transport)
	typed, err := kubernetes.NewForConfigAndClient(client, connection)
	if err != nil {
		return fmt.Errorf("client of the manager: %w", err)
	}
	untyped, err := dynamic.NewForConfigAndClient(client, connection)
	if err != nil {
		return fmt.Errorf("client of the manager: %w", err)
	}
	builtIn, err := BuiltIn(ctx, typed.Discovery().RESTClient())
	if err != nil {
		return err
	}
	if builtIn {
		return ErrBuiltIn
	}
	keys, err := openKeys(ctx, config, typed)
	if err != nil {
		return err
	}
	reviews := &http.Server{
		Handler:   enforcement.NewWebhook(enforcement.LiveVersions(untyped)),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: keys.certificate},
	}
	return run(ctx, parts{config: config, client: typed, keys: keys, reviews: reviews, health: healthServer()})
}

// parts are what runs.
type parts struct {
	config          Config
	client          kubernetes.Interface
	keys            keys
	reviews, health *http.Server
}

// run stops in an order that refuses nothing: plans are put down and the Lease is
// handed over while reviews are still answered.
func run(ctx context.Context, p parts) error {
	leading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()

	var servers sync.WaitGroup
	start := func(server *http.Server, listener net.Listener) {
		servers.Go(func() {
			if err := serve(serving, server, listener); err != nil {
				stop(err)
			}
		})
	}
	start(p.reviews, tls.NewListener(p.config.Webhook, p.reviews.TLSConfig))
	if p.config.Health != nil {
		start(p.health, p.config.Health)
	}
	servers.Go(func() { p.keys.keep(serving) })
	if p.config.Ready != nil {
		p.config.Ready()
	}

	err := whileGuarded(leading, p.client, p.lead)
	end()
	servers.Wait()
	if broken := context.Cause(leading); err == nil && ctx.Err() == nil {
		return broken
	}
	return err
}

// lead runs plans whenever this process leads.
func (p parts) lead(ctx context.Context) error {
	election := lifecycle.Election{Client: p.config.Client, Namespace: Namespace, Name: Name, Identity: p.config.Identity}
	return lifecycle.Lead(ctx, election, func(ctx context.Context) error {
		return controller.Run(ctx, controller.Config{Client: p.config.Client, Unattended: p.config.Unattended})
	})
}

func closeAll(listeners ...net.Listener) {
	for _, listener := range listeners {
		if listener != nil {
			_ = listener.Close()
		}
	}
}
