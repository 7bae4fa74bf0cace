package apiserver

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/google/uuid"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	restclient "k8s.io/client-go/rest"

	"holdfast.dev/holdfast/access"
	"holdfast.dev/holdfast/apiserver/serviceip"
)

// servingHosts are the names and addresses that clients know the server by.
func servingHosts(config Config) []string {
	hosts := []string{
		"localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default",
		"kubernetes.default.svc", "kubernetes.default.svc.cluster.local", serviceip.KubernetesIP,
		genericapiserver.LoopbackClientServerNameOverride,
	}
	if ip := net.ParseIP(config.BindAddress); ip != nil && !ip.IsUnspecified() {
		hosts = append(hosts, config.BindAddress)
	} else if addrs, err := net.InterfaceAddrs(); err == nil {
		// Listening everywhere means being reached by every address there is.
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

// listen takes the port before anything else is started.
func listen(config Config) (*closableListener, error) {
	address := net.JoinHostPort(config.BindAddress, strconv.Itoa(config.Port))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		// The error of the operation would name the address again.
		var operation *net.OpError
		if errors.As(err, &operation) {
			err = operation.Err
		}
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return &closableListener{Listener: listener}, nil
}

// closableListener can be closed while a server still accepts on it, because its
// requests did not end in time. Upstream panics if other code closes its listener.
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

// newServing reads the certificates from files that are renewed while the
// server runs.
func newServing(listener net.Listener, pki *access.PKI) (*genericapiserver.SecureServingInfo, dynamiccertificates.CAContentProvider, error) {
	serving, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving", pki.ServingCertFile(), pki.ServingKeyFile())
	if err != nil {
		return nil, nil, fmt.Errorf("serving certificate: %w", err)
	}
	clientCA, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", pki.CAFile())
	if err != nil {
		return nil, nil, fmt.Errorf("client authority: %w", err)
	}
	return &genericapiserver.SecureServingInfo{
		Listener:                     listener,
		Cert:                         serving,
		HTTP2MaxStreamsPerConnection: 1000,
	}, clientCA, nil
}

// loopbackClient is how the server's own parts reach its API: over the same
// port and through the same checks as everybody, with a token nobody else has.
func loopbackClient(serving *genericapiserver.SecureServingInfo, pki *access.PKI) (*restclient.Config, error) {
	config, err := serving.NewLoopbackClientConfig(uuid.NewString(), pki.Authority().CertPEM)
	if err != nil {
		return nil, fmt.Errorf("loopback client: %w", err)
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	// Nothing leaves the process.
	config.DisableCompression = true
	return config, nil
}
