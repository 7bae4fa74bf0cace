package guard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/othercluster/webhook"
	"holdfast.dev/holdfast/internal/policy"
)

const (
	// Namespace is the namespace of the guard's namespaced objects.
	Namespace = "holdfast-guard"
	// Name is the name of the guard's Lease, Deployment, Service, ServiceAccount and webhook
	// configuration.
	Name = "holdfast-guard"
	// SecretName is the name of the Secret with the keys of the webhook.
	SecretName = "holdfast-guard-webhook"
	// ReaderLabel is the label of ClusterRoles whose rights the guard gets, to read the objects of
	// scales, objects in other versions, and the objects of a definition that changes.
	ReaderLabel = "guard.holdfast.dev/aggregate-to-reader"
)

// Certificates is the Secret with the keys of the webhook.
func Certificates() webhook.Secret {
	return webhook.Secret{Namespace: Namespace, Name: SecretName, FieldManager: Name, Remedy: "holdfast guard init"}
}

// Config is the configuration of a guard.
type Config struct {
	// Client is the config of the API server, with the rights that package setup grants the guard. It
	// is copied; its rate limit is not used.
	Client *rest.Config
	// Webhook is the listener for reviews, over TLS. Run closes it.
	Webhook net.Listener
	// Health is the listener for /healthz, /livez, /readyz and /metrics, over plain HTTP. It may be
	// nil. Run closes it.
	Health net.Listener
	// URL is where the API server reaches a guard outside of the cluster. If it is empty, the API server
	// uses the Service.
	URL string
	// CertFile and KeyFile hold the certificate of the webhook, and CAFile the certificate of its
	// authority. If they are empty, those in the Secret are used.
	CertFile, KeyFile, CAFile string
	// Status is the HTTP status of refusals, 400 or 422; zero is 400.
	Status int
	// Ownership says whether writes to fields that kubectl apply and server-side apply own are warned about, and
	// edits of them refused. The empty mode is judgement.EnforceEdit.
	Ownership judgement.Mode
	// PoliciesOnly leaves to the API server what "holdfast serve" does itself: it enforces the annotations of definitions, keeps
	// the fields that they mark, and judges field ownership. See IsHoldfast.
	PoliciesOnly bool
	// ExcludeNamespaces are namespaces whose objects are not guarded, and ExcludeResources resources that are not guarded, besides those
	// that never are.
	ExcludeNamespaces []string
	ExcludeResources  []schema.GroupResource
	// ScanTimeout bounds the time in which the guard lists the objects of a definition that changes. Zero is 20 seconds, and more would be
	// longer than the API server waits.
	ScanTimeout time.Duration
	// AuditInterval is the interval at which the leader audits the cluster. Zero is ten minutes, and less is never.
	AuditInterval time.Duration
	// Identity is the identity of this replica in the Lease. It defaults to the name of the host and a
	// random suffix.
	Identity string
	// Ready is called once, when the guard answers reviews. It may be nil.
	Ready func()
}

// Run answers reviews, and writes the webhook configuration while this process is the leader. It blocks
// until ctx ends. It returns an error if the config is not valid, the guard is not installed, or a
// listener fails.
func Run(ctx context.Context, config Config) error {
	defer closeAll(config.Webhook, config.Health)
	if config.Client == nil || config.Webhook == nil {
		return errors.New("guard: a client and a listener are required")
	}
	server, err := connection.Open(config.Client, connection.Options{UserAgent: Name})
	if err != nil {
		return fmt.Errorf("client of the guard: %w", err)
	}
	defer server.Close()
	// Without the kind, its informer would wait for it forever.
	if _, err := server.Dynamic.Resource(policy.Policies()).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return fmt.Errorf("list policies: %w: run %q first", err, Certificates().Remedy)
	}
	if config.PoliciesOnly {
		config.Ownership = judgement.Off
	}
	wake := make(chan struct{}, 1)
	keys, err := openKeys(ctx, config, server, wake)
	if err != nil {
		return err
	}
	return run(ctx, config, server, parts{keys: keys, wake: wake})
}

// IsHoldfast reports whether an API server is "holdfast serve".
func IsHoldfast(config *rest.Config) (bool, error) {
	server, err := connection.Open(config, connection.Options{UserAgent: Name})
	if err != nil {
		return false, err
	}
	defer server.Close()
	version, err := server.Discovery.ServerVersion()
	if err != nil {
		return false, fmt.Errorf("version of the API server: %w", err)
	}
	return strings.HasSuffix(version.GitVersion, "+holdfast"), nil
}

// EnforcesPolicies reports whether an API server enforces ImmutabilityPolicies itself. Such a server has a readiness check for it.
func EnforcesPolicies(ctx context.Context, config *rest.Config) (bool, error) {
	server, err := connection.Open(config, connection.Options{UserAgent: Name})
	if err != nil {
		return false, err
	}
	defer server.Close()
	return enforcesPolicies(ctx, server)
}

func enforcesPolicies(ctx context.Context, server *connection.Connection) (bool, error) {
	var status int
	result := server.Discovery.RESTClient().Get().AbsPath("/readyz/poststarthook/" + policy.EnforcedHook).Do(ctx).StatusCode(&status)
	switch status {
	case http.StatusOK, http.StatusInternalServerError: // 500 if the check has not passed yet
		return true, nil
	case http.StatusNotFound, http.StatusForbidden:
		return false, nil
	}
	return false, result.Error()
}

// parts are the parts of a guard that Run opens.
type parts struct {
	keys webhook.Keys
	// wake has a value if the keys have changed.
	wake <-chan struct{}
}

// run starts all parts. At the end it first releases the Lease, and then stops answering reviews.
func run(ctx context.Context, config Config, server *connection.Connection, opened parts) error {
	leading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer end()

	rules := newTracker(server, policy.Compiler{Server: connected{server}, PoliciesOnly: config.PoliciesOnly, Exclude: config.ExcludeResources})
	running.Go(func() { rules.run(serving) })
	if err := rules.wait(ctx); err != nil {
		return err
	}
	recorded := &events{policy.NewEvents(serving, server.Typed, rules.policies.GetStore(), Name)}
	secret := newTokens(func(ctx context.Context) (string, error) {
		found, err := liveConfiguration(ctx, server.Typed)
		return tokenOf(found), err
	})
	live := newObserved(server.Typed)
	running.Go(func() { live.run(serving) })
	counted, err := newMeters()
	if err != nil {
		return err
	}
	refused := newRefusals()
	reports := reporter{server: server, installed: rules.defines}
	running.Go(func() { refused.write(serving, reports) })
	handler := newHandler(config, server, handled{
		rules: rules, events: recorded, tokens: secret, live: live, meters: counted, refusals: refused,
	})
	start := func(server *http.Server, listener net.Listener) {
		running.Go(func() {
			if err := webhook.Serve(serving, server, listener); err != nil {
				stop(err)
			}
		})
	}
	reviews := &http.Server{Handler: handler}
	start(reviews, tls.NewListener(config.Webhook, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: opened.keys.Certificate}))
	if config.Health != nil {
		start(webhook.Health(readiness{rules: rules, live: live, keys: opened.keys}.check), config.Health)
	}
	running.Go(func() { opened.keys.Keep(serving) })
	running.Go(func() { secret.keep(serving) })
	if config.Ready != nil {
		config.Ready()
	}
	election := lifecycle.Election{Client: config.Client, Namespace: Namespace, Name: Name, Identity: config.Identity}
	err = lifecycle.Lead(leading, election, func(ctx context.Context) error {
		kept := newKnown()
		l := &leader{
			config: config, server: server, rules: rules, live: live, wake: opened.wake,
			events: recorded, tokens: secret, told: map[string]string{},
			auditor: auditor{config: config, rules: rules, report: reports, meters: counted, kept: kept}, kept: kept,
		}
		return l.run(ctx)
	})
	if broken := context.Cause(leading); err == nil && ctx.Err() == nil {
		return broken
	}
	return err
}

func closeAll(listeners ...net.Listener) {
	for _, listener := range listeners {
		if listener != nil {
			_ = listener.Close()
		}
	}
}
