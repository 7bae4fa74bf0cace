package cli

import (
	"time"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/openid"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/definition"
)

// lifetime is the default of the longest lifetime of tokens and certificates.
const lifetime = 365 * 24 * time.Hour

// addFlags adds the flags of serve.
func (s *serveSettings) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.file, "config", "", "YAML file with values of these flags, by name; flags on the command line win")
	s.log.addFlag(flags)
	flags.StringVar(&s.log.format, "logging-format", "", "the same as --log-format, by the name of kube-apiserver")
	flags.IntVarP(&s.log.verbosity, "v", "v", 0, "how much to log on stderr: 0 warnings and errors, 1 and up what Kubernetes logs at that level")
	addFeatureGates(flags, s.features)
	s.addOwnFlags(flags)
	s.addServingFlags(flags)
	addEtcdFlags(flags, &s.config)
	s.addIdentityFlags(flags)
	s.addAggregationFlags(flags)
	s.addTokenFlags(flags)
	addOpenIDFlags(flags, &s.config.OpenID)
	s.addAPIFlags(flags)
	s.addKubeletFlags(flags)
	s.addHistoryFlags(flags)
	s.audit.AddFlags(flags)
	addForeignFlags(flags)
}

// addOwnFlags adds the flags that kube-apiserver does not have.
func (s *serveSettings) addOwnFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.config.DataDir, "data-dir", "", "directory for etcd's data, certificates and the admin kubeconfig (default: "+
		"holdfast in --cert-dir, or the user's data directory)")
	flags.StringVar(&s.config.Kubeconfig, "kubeconfig", "", "where to write the admin kubeconfig (default: <data-dir>/admin.kubeconfig)")
	flags.IntVar(&s.config.ImmutabilityStatus, "immutability-status", 400, "HTTP status of a change that a marker of a custom resource "+
		"forbids: 400, or 422 for tools that recreate an object on Invalid")
	flags.StringVar(&s.config.Ownership, "ownership", "enforce-edit", "how the server answers a write to a field that apply owns: "+
		"enforce-edit (a warning, and an edit is refused), warn, or off")
	flags.StringVar((*string)(&s.config.DefinitionPolicy), "definition-policy", string(definition.Warn), "which changes of a "+
		"CustomResourceDefinition are refused: warn (none), refuse-loss (stored objects lose data) or refuse-breaking (they or objects of "+
		"clients become invalid); the annotation "+definition.GateAnnotation+" of a definition goes before it")
	flags.DurationVar(&s.config.DefinitionScanTimeout, "definition-scan-timeout", 20*time.Second, "how long the server reads stored objects "+
		"to judge a change of their definition")
	flags.DurationVar(&s.config.CacheAuditInterval, "cache-audit-interval", 5*time.Minute, "time after which the server compares its caches with "+
		"etcd again; 0 turns this off")
	flags.BoolVar(&s.operators, "operators", true, "serve operator packages: their kinds, their admission and their controller; false "+
		"leaves that to \"holdfast kudo init\" and \"holdfast kudo manager\"")
	flags.StringVar(&s.config.RulesDir, "rules-dir", "", "directory with ImmutabilityPolicies in files: they are in force from the start, "+
		"and a change of a file within ten seconds")
	flags.StringSliceVar((*[]string)(&s.config.Controllers), "controllers", []string{"*"}, "controllers to run, by the names of "+
		"kube-controller-manager: * is all, -NAME all but one, -* none")
	flags.BoolVar(&s.config.Console, "console", false, "serve a page at /console/ that shows locked fields, owners, drift, plans and "+
		"skeletons; it only reads, with the rights of its user")
	flags.StringVar(&s.config.RootCAFile, "root-ca-file", "", "authorities by which pods verify the server (default: that of the data "+
		"directory, and --tls-cert-file)")
	flags.DurationVar(&s.config.MaxCertificateLife, "cluster-signing-duration", lifetime, "longest lifetime of a client certificate that "+
		"is signed for a CertificateSigningRequest, at most a year")
}

// addHistoryFlags adds the flags of the history of objects.
func (s *serveSettings) addHistoryFlags(flags *pflag.FlagSet) {
	h := &s.config.History
	flags.IntVar(&h.Entries, "history-entries", config.DefaultHistoryEntries, "number of writes that the history of one object has at most")
	flags.IntVar(&h.Bytes, "history-bytes", config.DefaultHistoryBytes, "bytes that the history of one object has at most in etcd")
	flags.Int64Var(&h.TotalBytes, "history-total-bytes", config.DefaultHistoryTotalBytes, "bytes that the history of all objects has at most in "+
		"etcd: the oldest entries of all objects go first, and the newest of each object stays")
	flags.DurationVar(&h.AfterDelete, "history-after-delete", 0, "how long the history of a deleted object is kept; 0 removes it with the object")
}

// addServingFlags adds the flags of the port.
func (s *serveSettings) addServingFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.config.BindAddress, "bind-address", "127.0.0.1", "IP address to listen on")
	flags.StringVar(&s.config.AdvertiseAddress, "advertise-address", "", "IP address at which other hosts reach the server, for the Service "+
		"kubernetes (default: the bind address; for 127.0.0.1 and 0.0.0.0 the host's)")
	flags.IntVar(&s.config.Port, "secure-port", 6443, "port to listen on; 0 picks a free one")
	flags.StringVar(&s.certDir, "cert-dir", "", "directory with apiserver.crt and apiserver.key, if there is no --tls-cert-file")
	flags.StringVar(&s.config.Serving.CertFile, "tls-cert-file", "", "certificate that clients get, with its chain (default: one of the "+
		"authority in the data directory)")
	flags.StringVar(&s.config.Serving.KeyFile, "tls-private-key-file", "", "key of --tls-cert-file")
	flags.StringVar(&s.config.Serving.MinVersion, "tls-min-version", "", "lowest version of TLS: VersionTLS12 (the default) or VersionTLS13")
	flags.StringSliceVar(&s.config.Serving.CipherSuites, "tls-cipher-suites", nil, "cipher suites of TLS 1.2, comma separated (default: "+
		"those of Go)")
	flags.DurationVar(&s.config.Limits.RequestTimeout, "request-timeout", time.Minute, "longest time of a request that is not a watch")
	flags.IntVar(&s.config.Limits.Requests, "max-requests-inflight", 400, "this and --max-mutating-requests-inflight together are the "+
		"number of requests at a time")
	flags.IntVar(&s.config.Limits.MutatingRequests, "max-mutating-requests-inflight", 200, "see --max-requests-inflight")
	flags.DurationVar(&s.config.ShutdownDelay, "shutdown-delay-duration", 0, "how long a server that is told to stop still answers, while "+
		"it reports that it is not ready")
	flags.BoolVar(&s.config.Profiling, "profiling", false, "serve /debug/pprof to clients with a role for it")
}

// addEtcdFlags adds the flags about stored objects.
func addEtcdFlags(flags *pflag.FlagSet, config *apiserver.Config) {
	flags.StringSliceVar(&config.Etcd.Servers, "etcd-servers", nil, "etcd servers to use instead of the embedded one "+
		"(scheme://host:port, comma separated)")
	flags.StringVar(&config.Etcd.CAFile, "etcd-cafile", "", "certificate authority of the etcd servers")
	flags.StringVar(&config.Etcd.CertFile, "etcd-certfile", "", "client certificate for the etcd servers")
	flags.StringVar(&config.Etcd.KeyFile, "etcd-keyfile", "", "key of the client certificate for the etcd servers")
	flags.StringVar(&config.EncryptionConfig, "encryption-provider-config", "", "file with an EncryptionConfiguration for what is stored")
}

// addIdentityFlags adds the flags for users other than service accounts, and for what users may do.
func (s *serveSettings) addIdentityFlags(flags *pflag.FlagSet) {
	flags.Var(&s.config.Anonymous, "anonymous-auth", "what requests without a credential may reach: health, false (nothing) or true (what "+
		"roles allow system:anonymous)")
	flags.StringVar(&s.config.ClientCAFile, "client-ca-file", "", "authorities whose client certificates are accepted, beside that of the "+
		"data directory")
	flags.StringVar(&s.config.TokenFile, "token-auth-file", "", "file with bearer tokens, a line token,user,uid,\"group1,group2\" each")
	flags.StringSliceVar(&s.authorization, "authorization-mode", []string{"Node", "RBAC"}, "how requests are authorized; both are always on")
	s.config.RequestHeader.AddFlags(flags)
}

// addTokenFlags adds the flags for tokens of service accounts.
func (s *serveSettings) addTokenFlags(flags *pflag.FlagSet) {
	accounts := &s.config.ServiceAccounts
	flags.DurationVar(&s.config.MaxTokenLife, "service-account-max-token-expiration", lifetime, "longest lifetime of a token of a service "+
		"account; a request for a longer one is shortened")
	flags.StringArrayVar(&accounts.Issuers, "service-account-issuer", nil, "issuer of tokens; if it is given several times, the first is "+
		"that of new tokens, and all are accepted (default: https://kubernetes.default.svc.cluster.local)")
	flags.StringVar(&accounts.SigningKeyFile, "service-account-signing-key-file", "", "key that signs tokens, RSA or ECDSA (default: one in "+
		"the data directory)")
	flags.StringArrayVar(&accounts.KeyFiles, "service-account-key-file", nil, "keys that verify tokens, beside the one that signs them; can "+
		"be given several times")
	flags.StringSliceVar(&accounts.Audiences, "api-audiences", nil, "audiences of the API in tokens, comma separated (default: the issuers)")
	flags.StringVar(&accounts.KeysURL, "service-account-jwks-uri", "", "URL of the keys of tokens in the discovery document (default: on "+
		"this server)")
}

// addAPIFlags adds the flags for objects and admission.
func (s *serveSettings) addAPIFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.addresses, "service-cluster-ip-range", "", "range of the cluster IPs of Services (default: 10.96.0.0/16)")
	flags.Var(&s.config.Services.NodePorts, "service-node-port-range", "range of the node ports of Services (default: 30000-32767)")
	flags.DurationVar(&s.config.Limits.EventTTL, "event-ttl", time.Hour, "how long events are kept")
	flags.StringToStringVar(&s.runtime, "runtime-config", nil, "APIs to turn on, group/version=true, comma separated; all that exist here "+
		"are on")
	flags.StringSliceVar(&s.config.EnableAdmission, "enable-admission-plugins", nil, "admission plugins to turn on, by Kubernetes' "+
		"names, comma separated; all that exist here are on by default")
	flags.StringSliceVar(&s.config.DisableAdmission, "disable-admission-plugins", nil, "admission plugins to turn off, by Kubernetes' "+
		"names, comma separated")
}

// addKubeletFlags adds the flags for connections to kubelets.
func (s *serveSettings) addKubeletFlags(flags *pflag.FlagSet) {
	kubelets := &s.config.Kubelet
	flags.StringVar(&kubelets.CertFile, "kubelet-client-certificate", "", "client certificate for kubelets (default: one of the authority "+
		"in the data directory, for the user "+access.KubeletClient+")")
	flags.StringVar(&kubelets.KeyFile, "kubelet-client-key", "", "key of --kubelet-client-certificate")
	flags.StringVar(&kubelets.CAFile, "kubelet-certificate-authority", "", "authorities of the kubelets; without them, the server does not "+
		"verify kubelets")
	flags.StringSliceVar(&kubelets.AddressTypes, "kubelet-preferred-address-types", nil, "types of addresses of a Node by which the server "+
		"reaches its kubelet, the preferred one first (default: Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP)")
	flags.DurationVar(&kubelets.Timeout, "kubelet-timeout", 5*time.Second, "how long the server waits for a connection to a kubelet")
}

// addOpenIDFlags adds the flags for authentication with an OpenID Connect provider, which
// have the names of kube-apiserver's.
func addOpenIDFlags(flags *pflag.FlagSet, config *openid.Config) {
	flags.StringVar(&config.File, "authentication-config", "", "file with an AuthenticationConfiguration, which names the providers of "+
		"accepted tokens; it replaces the oidc flags")
	flags.StringVar(&config.IssuerURL, "oidc-issuer-url", "", "URL of the OpenID provider whose tokens are accepted; https only")
	flags.StringVar(&config.ClientID, "oidc-client-id", "", "audience that tokens of the OpenID provider must have")
	flags.StringVar(&config.CAFile, "oidc-ca-file", "", "certificate authority of the OpenID provider (default: those of the host)")
	flags.StringVar(&config.UsernameClaim, "oidc-username-claim", "sub", "claim that names the user")
	flags.StringVar(&config.UsernamePrefix, "oidc-username-prefix", "", "put before the user's name; - is nothing (default: the issuer's "+
		"URL and #, but for the claim email)")
	flags.StringVar(&config.GroupsClaim, "oidc-groups-claim", "", "claim that names the user's groups, a string or a list")
	flags.StringVar(&config.GroupsPrefix, "oidc-groups-prefix", "", "put before each group")
	flags.StringToStringVar(&config.RequiredClaims, "oidc-required-claim", nil, "claims that tokens must have, key=value, comma separated")
	flags.StringSliceVar(&config.SigningAlgs, "oidc-signing-algs", []string{"RS256"}, "signing algorithms that are accepted, comma separated")
}
