package manager

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/admission/instance"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/controller"
	"holdfast.dev/holdfast/internal/operator/deletion"
	"holdfast.dev/holdfast/internal/othercluster/webhook"
)

const (
	// Namespace is the namespace of the manager's namespaced objects.
	Namespace = "kudo-system"
	// Name is the name of the manager's Lease and Deployment, and the default of its
	// ServiceAccount.
	Name = "kudo-manager"
	// Secret is the name of the Secret with the keys of the webhook.
	Secret = "kudo-webhook"
	// RecordsSecret is the name of the Secret with the keys of the records of requesters
	// and authors. Package setup creates it without content.
	RecordsSecret = "kudo-records"
)

// ErrBuiltIn is returned for a server that has operator packages built in. A second controller
// would run every plan twice.
var ErrBuiltIn = errors.New("this server admits and runs operator packages itself")

// Config is the configuration of a manager.
type Config struct {
	// Client is the config of the API server, with the rights that package setup grants the
	// manager. It is copied; its rate limit is not used.
	Client *rest.Config
	// Webhook is the listener for reviews, over TLS. Run closes it.
	Webhook net.Listener
	// Health is the listener for /healthz, /livez, /readyz and /metrics, over plain HTTP. It
	// may be nil. Run closes it.
	Health net.Listener
	// CertFile and KeyFile hold the certificate of the webhook. If they are empty, the
	// certificate in the Secret is used.
	CertFile, KeyFile string
	// Unattended is for a cluster without workload controllers. Plans then do not wait for
	// objects without a status set by a controller.
	Unattended bool
	// ServiceAccount is the name of the service account of all replicas, in Namespace. It
	// defaults to Name. The webhook trusts no other user to act for other users.
	ServiceAccount string
	// Identity is the identity of this replica in the Lease. It defaults to the name of the
	// host and a random suffix.
	Identity string
	// Ready is called once, when the webhook accepts reviews. It may be nil.
	Ready func()
}

// Run serves the webhook. It also runs plans, while this process is the leader and the API
// server sends every write of Instances to the webhook. It blocks until ctx ends. It returns
// an error if the config is not valid or a listener fails.
func Run(ctx context.Context, config Config) error {
	defer closeAll(config.Webhook, config.Health)
	if config.Client == nil || config.Webhook == nil {
		return errors.New("manager: a client and a listener are required")
	}
	server, err := connection.Open(config.Client, connection.Options{UserAgent: Name})
	if err != nil {
		return fmt.Errorf("client of the manager: %w", err)
	}
	defer server.Close()
	account := cmp.Or(config.ServiceAccount, Name)
	if err := checkAccount(ctx, server.Typed, account); err != nil {
		return err
	}
	builtIn, err := BuiltIn(ctx, server.Discovery.RESTClient())
	if err != nil {
		return err
	}
	if builtIn {
		return ErrBuiltIn
	}
	keys, err := openKeys(ctx, config, server.Typed)
	if err != nil {
		return err
	}
	records := authorship.NewKeyring(authorship.SecretKeys(server.Typed, Namespace, RecordsSecret))
	if err := records.Load(ctx); err != nil {
		return fmt.Errorf("%w: run \"holdfast kudo init\" first", err)
	}
	deletions := deletion.NewStore(server.Typed, Namespace, records)
	readers := instance.ReviewedReaders(server.Typed.AuthorizationV1().SubjectAccessReviews())
	judged := instance.Config{
		Versions: instance.LiveVersions(server.Dynamic), Keys: records, Deletions: deletions,
		Controller: serviceaccount.MakeUsername(Namespace, account),
		Discloses:  readers, MayRead: readers,
		MayGet:    instance.ReviewedVersions(server.Typed.AuthorizationV1().SubjectAccessReviews()),
		Instances: instance.LiveInstances(server.Dynamic, server.Typed.CoreV1().Namespaces()),
	}
	reviews := &http.Server{
		Handler:   NewWebhook(judged),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: keys.Certificate},
	}
	plans := controller.Config{
		Client: config.Client, Keys: records, Deletions: deletions, Unattended: config.Unattended, Metrics: controller.NewMetrics(),
	}
	own := prometheus.NewRegistry()
	own.MustRegister(plans.Metrics)
	return run(ctx, parts{config: config, client: server.Typed, keys: keys, plans: plans, reviews: reviews, health: webhook.Health(nil, own)})
}

// parts are the parts of a running manager.
type parts struct {
	config          Config
	client          kubernetes.Interface
	keys            webhook.Keys
	plans           controller.Config
	reviews, health *http.Server
}

// run starts all parts. At the end it first stops the controller and releases the Lease, and
// then it stops the servers. The webhook therefore answers reviews while the controller stops.
func run(ctx context.Context, p parts) error {
	leading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()

	var servers sync.WaitGroup
	start := func(server *http.Server, listener net.Listener) {
		servers.Go(func() {
			if err := webhook.Serve(serving, server, listener); err != nil {
				stop(err)
			}
		})
	}
	start(p.reviews, tls.NewListener(p.config.Webhook, p.reviews.TLSConfig))
	if p.config.Health != nil {
		start(p.health, p.config.Health)
	}
	servers.Go(func() { p.keys.Keep(serving) })
	if p.config.Ready != nil {
		p.config.Ready()
	}

	err := whileCovered(leading, p.client, p.lead)
	end()
	servers.Wait()
	if broken := context.Cause(leading); err == nil && ctx.Err() == nil {
		return broken
	}
	return err
}

// lead runs the controller whenever this process is the leader.
func (p parts) lead(ctx context.Context) error {
	election := lifecycle.Election{Client: p.config.Client, Namespace: Namespace, Name: Name, Identity: p.config.Identity}
	return lifecycle.Lead(ctx, election, func(ctx context.Context) error {
		return controller.Run(ctx, p.plans)
	})
}

func closeAll(listeners ...net.Listener) {
	for _, listener := range listeners {
		if listener != nil {
			_ = listener.Close()
		}
	}
}
