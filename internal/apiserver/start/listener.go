package start

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/google/uuid"
	genericapiserver "k8s.io/apiserver/pkg/server"
	restclient "k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver/config"
)

// servingHosts returns the names and addresses of the serving certificate.
func servingHosts(config config.Server) []string {
	hosts := []string{
		"localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default",
		"kubernetes.default.svc", "kubernetes.default.svc.cluster.local", config.Services.KubernetesIP(),
		genericapiserver.LoopbackClientServerNameOverride,
	}
	if ip := net.ParseIP(config.BindAddress); ip != nil && !ip.IsUnspecified() {
		hosts = append(hosts, config.BindAddress)
	} else if addrs, err := net.InterfaceAddrs(); err == nil {
		// A server that listens on all interfaces is reached at every address of the host.
		for _, addr := range addrs {
			if network, ok := addr.(*net.IPNet); ok {
				hosts = append(hosts, network.IP.String())
			}
		}
	}
	if config.AdvertiseAddress != "" {
		hosts = append(hosts, config.AdvertiseAddress)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// listen opens the port. It runs before anything else is started, so that a second
// server on the port ends early.
func listen(config config.Server) (*closableListener, error) {
	address := net.JoinHostPort(config.BindAddress, strconv.Itoa(config.Port))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		// An OpError repeats the address in its text.
		var operation *net.OpError
		if errors.As(err, &operation) {
			err = operation.Err
		}
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return &closableListener{Listener: listener}, nil
}

// closableListener can be closed while the generic server still accepts on it. This happens
// after a shutdown in which requests did not end in time. Upstream panics if
// other code closes its listener.
type closableListener struct {
	net.Listener
	closed atomic.Bool
}

// Accept implements net.Listener. After forceClose it blocks until the process ends.
func (l *closableListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil && l.closed.Load() {
		select {}
	}
	return conn, err
}

// forceClose closes the listener, even while the server accepts on it.
func (l *closableListener) forceClose() {
	l.closed.Store(true)
	_ = l.Close()
}

// loopbackClient returns the configuration by which parts of the server reach its API:
// over the same port and through the same checks as other clients, with a random token
// that exists only in this process.
func loopbackClient(serving *genericapiserver.SecureServingInfo, pki *access.PKI) (*restclient.Config, error) {
	config, err := serving.NewLoopbackClientConfig(uuid.NewString(), pki.Authority().CertPEM)
	if err != nil {
		return nil, fmt.Errorf("loopback client: %w", err)
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	// The data does not leave the host.
	config.DisableCompression = true
	return config, nil
}
