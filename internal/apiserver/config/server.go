package config

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/component-base/featuregate"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/openid"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/kubelet"
	"holdfast.dev/holdfast/internal/apiserver/serviceip"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/judgement"
)

// Server is the configuration of a server. Every field except DataDir has a default.
type Server struct {
	// DataDir holds everything that the server stores: etcd's data, certificates, the
	// admin kubeconfig. One server at a time may use it.
	DataDir string
	// BindAddress is the IP address to listen on; empty is 127.0.0.1.
	BindAddress string
	// AdvertiseAddress is the IP address at which other hosts reach the server. If it is
	// empty, the server uses BindAddress, or the address of the host if BindAddress is
	// 127.0.0.1 or 0.0.0.0.
	AdvertiseAddress string
	// Port is the port to listen on; 0 picks a free one.
	Port int
	// Revision identifies the source of the program. It is part of the hashes of OpenAPI
	// documents, by which clients keep them. If it is empty, each process has hashes of its own.
	Revision string
	// Kubeconfig is where the admin kubeconfig is written; empty is
	// DataDir/admin.kubeconfig.
	Kubeconfig string
	// Anonymous says which paths requests without a credential may reach; empty means
	// the health checks.
	Anonymous access.Anonymous
	// TokenFile is a file of bearer tokens that never expire. Each line is
	// token,user,uid,"group1,group2". Empty means no file.
	TokenFile string
	// OpenID configures the OpenID Connect providers. The server accepts their tokens.
	OpenID openid.Config
	// MaxTokenLife is the longest lifetime of a token that the server issues for a service
	// account; zero means a year.
	MaxTokenLife time.Duration
	// MaxCertificateLife is the longest lifetime of a client certificate that the server signs
	// for a CertificateSigningRequest, and its lifetime if the request names none; zero means
	// a year, which is also the maximum.
	MaxCertificateLife time.Duration
	// Serving configures TLS of the port.
	Serving Serving
	// ClientCAFile holds further authorities, in PEM. The server accepts the client
	// certificates that they signed, beside those of its own authority.
	ClientCAFile string
	// RootCAFile holds the authorities by which pods verify the server, in PEM. If it is
	// empty, they are the authority of the server, and the certificates of Serving.CertFile.
	RootCAFile string
	// RequestHeader configures front proxies: the server takes the user from headers of a
	// request if the client certificate is that of a proxy.
	RequestHeader options.RequestHeaderAuthenticationOptions
	// ProxyClient is the client certificate with which the server calls aggregated API servers;
	// empty means one that the server makes and keeps in its data directory.
	ProxyClient ProxyClient
	// ServiceAccounts configures the keys and the names of the issuer of tokens.
	ServiceAccounts ServiceAccounts
	// Services are the ranges of cluster IPs and node ports.
	Services serviceip.Ranges
	// Limits bound requests and events.
	Limits Limits
	// Profiling serves /debug/pprof to clients with a role for it.
	Profiling bool
	// Console serves the console: a page about the protection of objects.
	Console bool
	// ShutdownDelay is the time for which a server that is told to stop still answers, and
	// reports that it is not ready.
	ShutdownDelay time.Duration
	// Kubelet configures the connections to kubelets. Without a certificate, the server presents
	// one of its own authority.
	Kubelet kubelet.Config
	// EncryptionConfig is a file with Kubernetes' EncryptionConfiguration; without one
	// the server stores objects unencrypted.
	EncryptionConfig string
	// Version is the version of the program, which backups name.
	Version string
	// Audit says which requests are logged, and where.
	Audit Audit
	// ImmutabilityStatus is the HTTP status of the answer to a change of a field that is
	// marked immutable in a definition: 400, which is the default, or 422, on which some
	// tools recreate the object.
	ImmutabilityStatus int
	// DefinitionPolicy says which changes of a definition the server refuses, if the definition has no annotation with a policy. The
	// default is to refuse none.
	DefinitionPolicy definition.GatePolicy
	// DefinitionScanTimeout bounds how long the server reads stored objects to judge a change of their definition. The default is 20
	// seconds.
	DefinitionScanTimeout time.Duration
	// RecheckInterval is the time after which the server reads the stored objects of a definition again, some of which are invalid. The
	// default is 10 minutes.
	RecheckInterval time.Duration
	// CacheAuditInterval is the time between two comparisons of the caches with etcd. Zero means that there are none.
	CacheAuditInterval time.Duration
	// MigrationPatience is how long a stored object may fail to be written before its migration fails. The default is 20 seconds.
	MigrationPatience time.Duration
	// MigrationRate is how many objects the server writes in a second for migrations at most. The default is 500.
	MigrationRate float32
	// CollectAtLeast is how long no object refers to a ConfigMap or a Secret at least before the server marks it, and how long it is marked
	// before the server deletes it. The default is a minute.
	CollectAtLeast time.Duration
	// History bounds the history of objects.
	History History
	// Features are the feature gates of the built-in kinds, from native.NewFeatures; nil
	// means their defaults.
	Features featuregate.FeatureGate
	// Ownership says how the server answers writes to fields that apply owns:
	// "enforce-edit", which is the default, warns and refuses edits, "warn" warns, "off"
	// does neither.
	Ownership string
	// WithoutOperators leaves the kinds, the admission and the controller of operator
	// packages out of the server.
	WithoutOperators bool
	// WithoutPolicies leaves the kind and the enforcement of ImmutabilityPolicies out of the server.
	WithoutPolicies bool
	// WithoutReferences leaves the index of references to ConfigMaps and Secrets empty, so that nothing is collected. It has no flag: a
	// benchmark compares with it what the index costs.
	WithoutReferences bool
	// RulesDir is a directory with ImmutabilityPolicies in files, empty for none.
	RulesDir string
	// Controllers says which controllers run in the server.
	Controllers lifecycle.Selection
	// EnableAdmission and DisableAdmission turn admission plugins on and off, by the names
	// that they have in Kubernetes.
	EnableAdmission, DisableAdmission []string
	// Etcd is the cluster that stores the objects. If it names no servers, the server
	// runs an etcd member in its own process.
	Etcd etcd.Cluster
}

const (
	defaultScanTimeout = 20 * time.Second
	// defaultRecheckInterval is the default of RecheckInterval.
	defaultRecheckInterval = 10 * time.Minute
	// maxScanTimeout leaves time for the answer before the timeout of requests.
	maxScanTimeout = 30 * time.Second
)

// WithDefaults fills in the defaults and validates the configuration.
func (c Server) WithDefaults() (Server, error) {
	if c.DataDir == "" {
		return c, errors.New("data directory: required")
	}
	if c.BindAddress == "" {
		c.BindAddress = "127.0.0.1"
	}
	if net.ParseIP(c.BindAddress) == nil {
		return c, fmt.Errorf("bind address %q: not an IP address", c.BindAddress)
	}
	if c.AdvertiseAddress != "" {
		ip := net.ParseIP(c.AdvertiseAddress)
		// A loopback address is accepted, as in Kubernetes, and published nowhere.
		if ip == nil || ip.IsUnspecified() || ip.IsMulticast() || ip.IsLinkLocalUnicast() {
			return c, fmt.Errorf("advertise address %q: not an IP address that other hosts could reach", c.AdvertiseAddress)
		}
	}
	if err := c.checkProxyClient(); err != nil {
		return c, err
	}
	if c.Port < 0 || c.Port > 65535 {
		return c, fmt.Errorf("port %d: must be between 0 and 65535", c.Port)
	}
	if c.ImmutabilityStatus == 0 {
		c.ImmutabilityStatus = http.StatusBadRequest
	}
	if c.ImmutabilityStatus != http.StatusBadRequest && c.ImmutabilityStatus != http.StatusUnprocessableEntity {
		return c, fmt.Errorf("immutability status %d: must be 400 or 422", c.ImmutabilityStatus)
	}
	if c.DefinitionPolicy == "" {
		c.DefinitionPolicy = definition.Warn
	}
	if err := c.DefinitionPolicy.Check(); err != nil {
		return c, fmt.Errorf("definition policy %w", err)
	}
	if c.DefinitionScanTimeout == 0 {
		c.DefinitionScanTimeout = defaultScanTimeout
	}
	if c.DefinitionScanTimeout < 0 || c.DefinitionScanTimeout > maxScanTimeout {
		return c, fmt.Errorf("definition scan timeout %v: must be between 1ns and %v", c.DefinitionScanTimeout, maxScanTimeout)
	}
	if c.CacheAuditInterval < 0 {
		return c, fmt.Errorf("cache audit interval %v: must not be negative", c.CacheAuditInterval)
	}
	if c.RecheckInterval == 0 {
		c.RecheckInterval = defaultRecheckInterval
	}
	if c.RecheckInterval < 0 {
		return c, fmt.Errorf("recheck interval %v: must be positive", c.RecheckInterval)
	}
	if err := c.History.complete(); err != nil {
		return c, err
	}
	if c.Features == nil {
		c.Features = native.NewFeatures()
	}
	if _, err := judgement.ParseMode(c.Ownership); err != nil {
		return c, err
	}
	if err := c.checkLifetimes(); err != nil {
		return c, err
	}
	if err := c.checkComponents(); err != nil {
		return c, err
	}
	if c.Kubeconfig == "" {
		c.Kubeconfig = filepath.Join(c.DataDir, "admin.kubeconfig")
	}
	if c.Anonymous == "" {
		c.Anonymous = access.AnonymousHealth
	}
	if (c.Etcd.CertFile == "") != (c.Etcd.KeyFile == "") {
		return c, errors.New("etcd client certificate: certificate and key belong together")
	}
	if len(c.Etcd.Servers) == 0 && (c.Etcd.CAFile != "" || c.Etcd.CertFile != "") {
		return c, errors.New("etcd certificates were given, but no etcd servers")
	}
	return c, nil
}
