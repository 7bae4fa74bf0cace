package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/util/cert"
	cliflag "k8s.io/component-base/cli/flag"
)

// Serving configures TLS of the port.
type Serving struct {
	// CertFile and KeyFile are the certificate that clients get, in PEM. If they are empty,
	// clients get a certificate of the authority in the data directory. The kubeconfig of the
	// administrator relies on that authority in both cases.
	CertFile, KeyFile string
	// MinVersion is the lowest version of TLS, such as VersionTLS13; empty is VersionTLS12.
	MinVersion string
	// CipherSuites are the allowed cipher suites of TLS 1.2; empty means those of Go.
	CipherSuites []string
}

// issuerName is the issuer of service-account tokens, and their audience if the request for
// a token names none. Kubernetes installers use the same issuer.
const issuerName = "https://kubernetes.default.svc.cluster.local"

// ServiceAccounts configures the tokens of service accounts.
type ServiceAccounts struct {
	// Issuers are the names of the issuer. New tokens have the first, and the server accepts
	// tokens with any of them.
	Issuers []string
	// SigningKeyFile is the private key that signs tokens; empty is a key in the data directory.
	SigningKeyFile string
	// KeyFiles hold further keys that verify tokens: public keys, private keys or certificates.
	KeyFiles []string
	// Audiences are the audiences of the API; empty means the issuers.
	Audiences []string
	// KeysURL is the URL of the public keys in the discovery document of the issuer; empty is
	// that of this server.
	KeysURL string
}

// ProxyClient is the client certificate with which the server calls aggregated API servers.
type ProxyClient struct {
	// CertFile and KeyFile are the certificate and its key, in PEM.
	CertFile, KeyFile string
}

// Limits bound requests and the life of events. Zero means the default of Kubernetes.
type Limits struct {
	// Requests and MutatingRequests are together the number of requests at a time.
	Requests, MutatingRequests int
	// RequestTimeout is the longest time of a request that is not a watch.
	RequestTimeout time.Duration
	// EventTTL is how long an event is kept.
	EventTTL time.Duration
}

// Audit says which requests are logged, and where.
type Audit struct {
	// PolicyFile holds an audit policy of Kubernetes; without one no request is logged.
	PolicyFile string
	// LogPath is the file of the log, "-" for stdout.
	LogPath string
	// Options has the other settings of the log, and those of the audit webhook. Its policy file
	// and log path are replaced by PolicyFile and LogPath. Nil means the defaults.
	Options *options.AuditOptions
}

// checkComponents sets the defaults of the settings that have the names of kube-apiserver's
// flags, and validates them.
func (c *Server) checkComponents() (err error) {
	if (c.Serving.CertFile == "") != (c.Serving.KeyFile == "") {
		return errors.New("tls-cert-file and tls-private-key-file belong together")
	}
	if _, err := cliflag.TLSVersion(c.Serving.MinVersion); err != nil {
		return fmt.Errorf("tls-min-version: %w", err)
	}
	if _, err := cliflag.TLSCipherSuites(c.Serving.CipherSuites); err != nil {
		return fmt.Errorf("tls-cipher-suites: %w", err)
	}
	if c.Services, err = c.Services.WithDefaults(); err != nil {
		return err
	}
	if err := c.ServiceAccounts.check(); err != nil {
		return err
	}
	if err := c.checkRequestHeader(); err != nil {
		return err
	}
	if (c.Kubelet.CertFile == "") != (c.Kubelet.KeyFile == "") {
		return errors.New("kubelet-client-certificate and kubelet-client-key belong together")
	}
	if err := c.Controllers.Check(); err != nil {
		return err
	}
	if c.ShutdownDelay < 0 {
		return fmt.Errorf("shutdown-delay-duration %s: must not be negative", c.ShutdownDelay)
	}
	return c.Limits.check()
}

func (c *ServiceAccounts) check() error {
	if len(c.Issuers) == 0 {
		c.Issuers = []string{issuerName}
	}
	for _, issuer := range c.Issuers {
		// Kubernetes has this rule: an issuer is any text, or a URL if it has a colon.
		if _, err := url.Parse(issuer); issuer == "" || (strings.Contains(issuer, ":") && err != nil) {
			return fmt.Errorf("service-account-issuer %q: not a URL", issuer)
		}
	}
	if len(c.Audiences) == 0 {
		c.Audiences = c.Issuers
	}
	return nil
}

// checkRequestHeader refuses settings by which every client could name any user: an authority of
// both clients and proxies, without the names of the proxies.
func (c *Server) checkRequestHeader() error {
	if err := utilerrors.NewAggregate(c.RequestHeader.Validate()); err != nil {
		return err
	}
	if c.RequestHeader.ClientCAFile == "" || c.ClientCAFile == "" || len(c.RequestHeader.AllowedNames) > 0 {
		return nil
	}
	proxies, err := cert.CertsFromFile(c.RequestHeader.ClientCAFile)
	if err != nil {
		return fmt.Errorf("requestheader-client-ca-file: %w", err)
	}
	clients, err := cert.CertsFromFile(c.ClientCAFile)
	if err != nil {
		return fmt.Errorf("client-ca-file: %w", err)
	}
	for _, proxy := range proxies {
		if slices.ContainsFunc(clients, proxy.Equal) {
			return errors.New("client-ca-file and requestheader-client-ca-file have an authority in common: any of its clients could " +
				"name any user; name the proxies with requestheader-allowed-names")
		}
	}
	return nil
}

// checkProxyClient checks that a configured client certificate is complete, and that aggregated API
// servers can verify it: they trust only the authorities of requestheader-client-ca-file.
func (c *Server) checkProxyClient() error {
	if (c.ProxyClient.CertFile == "") != (c.ProxyClient.KeyFile == "") {
		return errors.New("proxy-client-cert-file and proxy-client-key-file belong together")
	}
	if c.ProxyClient.CertFile != "" && c.RequestHeader.ClientCAFile == "" {
		return errors.New("proxy-client-cert-file needs requestheader-client-ca-file, with which aggregated API servers verify the certificate")
	}
	return nil
}

func (l *Limits) check() error {
	defaults := Limits{Requests: 400, MutatingRequests: 200, RequestTimeout: time.Minute, EventTTL: time.Hour}
	switch {
	case l.Requests < 0:
		return fmt.Errorf("max-requests-inflight %d: must not be negative", l.Requests)
	case l.MutatingRequests < 0:
		return fmt.Errorf("max-mutating-requests-inflight %d: must not be negative", l.MutatingRequests)
	case l.RequestTimeout < 0:
		return fmt.Errorf("request-timeout %s: must not be negative", l.RequestTimeout)
	case l.EventTTL < 0 || l.EventTTL > 0 && l.EventTTL < time.Second:
		return fmt.Errorf("event-ttl %s: must be at least a second", l.EventTTL)
	}
	if l.Requests == 0 && l.MutatingRequests == 0 {
		l.Requests, l.MutatingRequests = defaults.Requests, defaults.MutatingRequests
	}
	if l.RequestTimeout == 0 {
		l.RequestTimeout = defaults.RequestTimeout
	}
	if l.EventTTL == 0 {
		l.EventTTL = defaults.EventTTL
	}
	return nil
}
