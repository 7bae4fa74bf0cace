// Package connection creates the clients of an API server that share one HTTP client.
//
//	server, err := connection.Open(config, connection.Options{UserAgent: "holdfast-controllers"})
//	defer server.Close()
//	pods := server.Typed.CoreV1().Pods("default")
package connection

import (
	"errors"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Options says how requests are sent.
type Options struct {
	// UserAgent names the client in audit logs and managed fields. If it is empty,
	// the clients use the user agent of the config.
	UserAgent string
	// Timeout bounds each request. If it is zero, the clients use the timeout of the
	// config.
	Timeout time.Duration
	// ReplacementsAsChanges makes all watches show a replacement of an object as one change of it, see ChangesHeader. The parts of
	// the server need it that decide about requests by the objects of an informer.
	ReplacementsAsChanges bool
}

// Connection holds the clients of one API server. Its fields are not changed after
// Open, and the clients are safe for concurrent use.
type Connection struct {
	// Config is the configuration of the clients. It is used to create further
	// clients that share HTTP.
	Config *rest.Config
	// HTTP sends the requests of all clients.
	HTTP *http.Client

	Typed     kubernetes.Interface
	Dynamic   dynamic.Interface
	Metadata  metadata.Interface
	Discovery *discovery.DiscoveryClient
}

// Open creates the clients. It copies the config and sends no request. It returns an
// error if the config is invalid. The clients ignore the rate limit of the config: the
// API server limits requests itself, and a second limit would only add delay.
func Open(config *rest.Config, options Options) (*Connection, error) {
	if config == nil {
		return nil, errors.New("required")
	}
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil
	if options.UserAgent != "" {
		config.UserAgent = options.UserAgent
	}
	if options.Timeout > 0 {
		config.Timeout = options.Timeout
	}
	c := &Connection{Config: config}
	var err error
	if c.HTTP, err = rest.HTTPClientFor(config); err != nil {
		return nil, err
	}
	if options.ReplacementsAsChanges {
		c.HTTP.Transport = asChanges{c.HTTP.Transport}
	}
	if c.Typed, err = kubernetes.NewForConfigAndClient(config, c.HTTP); err != nil {
		return nil, err
	}
	if c.Dynamic, err = dynamic.NewForConfigAndClient(config, c.HTTP); err != nil {
		return nil, err
	}
	if c.Metadata, err = metadata.NewForConfigAndClient(config, c.HTTP); err != nil {
		return nil, err
	}
	if c.Discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, c.HTTP); err != nil {
		return nil, err
	}
	return c, nil
}

// Close closes the idle connections. It does not end running requests.
func (c *Connection) Close() { utilnet.CloseIdleConnectionsFor(c.HTTP.Transport) }
