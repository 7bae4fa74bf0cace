package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage/value"
	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/access"
	"holdfast.dev/holdfast/apiserver/etcd"
	"holdfast.dev/holdfast/apiserver/guard"
)

const (
	// renewEvery is how often certificates are looked at while the server runs.
	renewEvery = time.Hour
	// settleTime is when what only a start needs is not needed any more.
	settleTime = 5 * time.Second
	// A shutdown takes five seconds at most, with watches open: watches are told
	// to go within the first, requests under way have until drainTimeout, and
	// the rest is for etcd.
	watchDrain   = time.Second
	drainTimeout = 4 * time.Second
)

// Server is an API server that has everything it needs to run.
type Server struct {
	config   Config
	lock     *os.File
	listener *closableListener
	pki      *access.PKI
	// member is nil where etcd is a cluster outside.
	member   *etcd.Member
	storage  *etcd.Client
	generic  *genericapiserver.GenericAPIServer
	loopback *restclient.Config
	// transformers encrypt what is stored; nil stores it as it is.
	transformers value.ResourceTransformers
	stores       map[schema.GroupResource]*genericregistry.Store
	// guard judges whose fields writes change, and memory knows which commands
	// wrote them; both are nil if ownership is off.
	guard       *guard.Guard
	memory      *guard.Memory
	closeMemory func()
	// bootstrapped is closed when the objects are there that clients expect.
	bootstrapped chan struct{}
	// operatorKinds is closed when the kinds of operator packages are served.
	operatorKinds chan struct{}
	// failed has the error of the first hook that failed.
	failed chan error
	// endings are done before the server stops to answer.
	endings []func(context.Context)
}

// New opens the data directory, the port, the certificates and etcd, and builds
// the server on them. Its errors name what is wrong and leave nothing open.
func New(ctx context.Context, config Config) (server *Server, err error) {
	config, err = config.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{config: config, bootstrapped: make(chan struct{}), operatorKinds: make(chan struct{}), failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.lock, err = lockDataDir(config.DataDir); err != nil {
		return nil, err
	}
	if s.listener, err = listen(config); err != nil {
		return nil, err
	}
	if s.pki, err = access.OpenPKI(filepath.Join(config.DataDir, "pki"), servingHosts(config)); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	if err = s.openEtcd(ctx); err != nil {
		return nil, err
	}
	if err = s.build(ctx); err != nil {
		return nil, err
	}
	if err = s.pki.WriteKubeconfig(config.Kubeconfig, s.URL()); err != nil {
		return nil, fmt.Errorf("write kubeconfig: %w", err)
	}
	return s, nil
}

// URL is where clients reach the server.
func (s *Server) URL() string {
	host, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return "https://" + s.listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "https://" + net.JoinHostPort(host, port)
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (s *Server) Kubeconfig() string { return s.config.Kubeconfig }

// Run serves until ctx ends, drains what is under way, and closes everything.
// It calls ready once, when the server answers that it is ready.
func (s *Server) Run(ctx context.Context, ready func()) error {
	defer s.close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if err := s.waitReady(ctx); err != nil {
			// Nobody is told of a start that was called off.
			if ctx.Err() == nil {
				cancel(err)
			}
			return
		}
		ready()
		// Building schemas and types, and the first lists of everything that
		// watches, took far more memory than serving does.
		select {
		case <-ctx.Done():
		case <-time.After(settleTime):
			debug.FreeOSMemory()
		}
	}()
	go func() {
		select {
		case err := <-s.failed:
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

// serve returns when everything is drained, or drainTimeout after ctx ended:
// what a client did not get an answer to by then, it has to ask again.
func (s *Server) serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.generic.PrepareRun().RunWithContext(ctx) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-served:
		return err
	case <-time.After(drainTimeout):
		return nil
	}
}

func (s *Server) renewCertificates(ctx context.Context) {
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := s.pki.Renew()
		if err == nil {
			err = s.pki.WriteKubeconfig(s.config.Kubeconfig, s.URL())
		}
		if err != nil {
			klog.ErrorS(err, "certificates are not renewed")
		}
	}
}

// close gives back, in reverse order, what New took.
func (s *Server) close() {
	if s.generic != nil {
		s.generic.Destroy()
	}
	if s.storage != nil {
		s.storage.Close()
	}
	if s.member != nil {
		s.member.Close()
	}
	if s.listener != nil {
		s.listener.takeAway()
	}
	if s.lock != nil {
		_ = s.lock.Close()
	}
}
