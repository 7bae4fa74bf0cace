package apiserver

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/access/walltime"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/start"
	"holdfast.dev/holdfast/internal/lifecycle"
)

const (
	// renewEvery is how often the server checks its certificates and renews them.
	renewEvery = time.Hour
	// settleTime is how long after the start the server returns memory to the operating
	// system. The start needs more memory than serving.
	settleTime = 5 * time.Second
	// diagnoseAfter is the time after which a server that is not ready looks for stored
	// objects that it cannot read.
	diagnoseAfter = 5 * time.Second
	// readyPoll is how often the server checks a condition that the start waits for.
	readyPoll = 10 * time.Millisecond
	// A shutdown takes at most five seconds, even with open watches: the server ends
	// watches within watchDrain, other requests have until drainTimeout, and the rest is
	// for etcd.
	drainTimeout = 4 * time.Second
)

// Config is the configuration of a server. Package config defines it, because the packages of the stages read it too.
type Config = config.Server

// Server is an API server with its port, certificates and etcd open. Run serves requests.
type Server struct {
	config   Config
	opened   *start.Opened
	served   resourcesStage
	loopback *restclient.Config
}

// New opens the data directory, the port, the certificates and etcd, and builds the server
// on them. On an error it leaves nothing open.
func New(ctx context.Context, config Config) (*Server, error) {
	config, err := config.WithDefaults()
	if err != nil {
		return nil, err
	}
	o, err := start.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	s, err := newServer(ctx, config, o)
	if err != nil {
		o.Close()
		return nil, err
	}
	if err := o.PKI.WriteKubeconfig(config.Kubeconfig, s.URL()); err != nil {
		s.close()
		return nil, fmt.Errorf("write kubeconfig: %w", err)
	}
	return s, nil
}

// newServer builds the server on what was opened.
func newServer(ctx context.Context, config Config, o *start.Opened) (*Server, error) {
	b, err := start.NewBase(config, o)
	if err != nil {
		return nil, err
	}
	served, err := build(ctx, b)
	if err != nil {
		return nil, err
	}
	return &Server{config: config, opened: o, served: served, loopback: b.Generic.LoopbackClientConfig}, nil
}

// URL is where clients reach the server.
func (s *Server) URL() string { return s.opened.URL() }

// Kubeconfig is the path of the administrator's kubeconfig.
func (s *Server) Kubeconfig() string { return s.config.Kubeconfig }

// Migrator writes stored objects again, while the server runs. Tests run a controller of migrations of their own with it.
func (s *Server) Migrator() lifecycle.Migrator { return s.served.migrator }

// Run serves until ctx ends, waits for requests in flight, and closes everything. It calls
// ready once, when the server answers that it is ready.
func (s *Server) Run(ctx context.Context, ready func()) error {
	defer s.close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if err := s.waitReady(ctx); err != nil {
			// If ctx ended, the caller stopped the server before it was ready, and that is
			// no error.
			if ctx.Err() == nil {
				cancel(err)
			}
			return
		}
		ready()
		// Building schemas and types, and the first lists of all watches, take far more
		// memory than serving.
		select {
		case <-ctx.Done():
		case <-time.After(settleTime):
			debug.FreeOSMemory()
		}
	}()
	go func() {
		select {
		case err := <-s.served.hooks.Failed():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	go s.renewCertificates(ctx)
	if err := s.serve(ctx); err != nil {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// serve returns when ctx has ended and all requests are answered, at the latest drainTimeout
// after the shutdown delay. Requests that are unanswered then get no answer, and their clients
// must retry them.
func (s *Server) serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.served.server.PrepareRun().RunWithContext(ctx) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-served:
		return err
	case <-time.After(s.config.ShutdownDelay + drainTimeout):
		return nil
	}
}

// waitReady polls the server itself until it reports that it is ready. It returns an
// error if the server cannot become ready.
func (s *Server) waitReady(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(s.loopback)
	if err != nil {
		return err
	}
	diagnose := time.Now().Add(diagnoseAfter)
	return wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil || time.Now().Before(diagnose) {
			return err == nil, nil
		}
		diagnose = time.Now().Add(diagnoseAfter)
		return false, s.served.readiness.Diagnose(ctx)
	})
}

// renewCertificates renews the certificates when they are due, until ctx ends. If the clock was set,
// they may be due at once.
func (s *Server) renewCertificates(ctx context.Context) {
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	set := make(chan time.Duration)
	go walltime.Watch(ctx, func(by time.Duration) {
		select {
		case set <- by:
		case <-ctx.Done():
		}
	})
	for {
		select {
		case <-ctx.Done():
			return
		case by := <-set:
			klog.InfoS("the clock of this machine was set: certificates, tokens and leases depend on it", "by", by.Round(time.Second))
		case <-ticker.C:
		}
		err := s.opened.PKI.Renew()
		if err == nil {
			err = s.opened.PKI.WriteKubeconfig(s.config.Kubeconfig, s.URL())
		}
		if err != nil {
			klog.ErrorS(err, "certificates are not renewed")
		}
	}
}

// close closes, in reverse order, everything that New opened.
func (s *Server) close() {
	s.served.server.Destroy()
	s.opened.Close()
}
