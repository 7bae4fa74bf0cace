package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// foreign is a flag of kube-apiserver that changes nothing here.
type foreign struct {
	// boolean tells that the flag without a value means true.
	boolean bool
	// only are the values under which kube-apiserver does what this server does. Any other
	// value is an error, because the server would do something else than it was told. If only
	// is empty, the server accepts every value, with a warning.
	only []string
	// why is the reason that the user reads.
	why string
}

const (
	ownHistory   = "the server bounds its watch history and that of etcd by itself"
	ownStorage   = "the server has its own settings of the storage"
	noLeadership = "the server has no coordinated leader election"
	noPeers      = "the server has no proxy to servers of another version"
	allMetrics   = "the server publishes all its metrics"
	defaultStay  = "pods tolerate a failed node for 300 seconds, unless they have a toleration of their own"
	textLog      = "the server logs at once to stderr; -v sets how much, --log-format how"
)

// foreignFlags are the flags of kube-apiserver that have no meaning here, or only one value.
func foreignFlags() map[string]foreign {
	return map[string]foreign{
		"allow-privileged": {
			boolean: true, only: []string{"true"}, why: "the label pod-security.kubernetes.io/enforce of a namespace forbids privileged pods",
		},
		"admission-control":                            {only: []string{""}, why: "use --enable-admission-plugins and --disable-admission-plugins"},
		"admission-control-config-file":                {only: []string{""}, why: "the plugins have Kubernetes' default configuration"},
		"default-not-ready-toleration-seconds":         {only: []string{"300"}, why: defaultStay},
		"default-unreachable-toleration-seconds":       {only: []string{"300"}, why: defaultStay},
		"authorization-config":                         {only: []string{""}, why: "Node and RBAC are the authorizers"},
		"authorization-policy-file":                    {only: []string{""}, why: "Node and RBAC are the authorizers"},
		"authorization-webhook-config-file":            {only: []string{""}, why: "Node and RBAC are the authorizers"},
		"authentication-token-webhook-config-file":     {only: []string{""}, why: "use --authentication-config for an OpenID provider"},
		"debug-socket-path":                            {only: []string{""}, why: "profiles need a credential here"},
		"egress-selector-config-file":                  {only: []string{""}, why: "the server connects directly"},
		"emulated-version":                             {only: []string{""}, why: "the server serves one version of Kubernetes"},
		"min-compatibility-version":                    {only: []string{""}, why: "the server serves one version of Kubernetes"},
		"enable-garbage-collector":                     {boolean: true, only: []string{"true"}, why: "it is always on"},
		"enable-priority-and-fairness":                 {boolean: true, only: []string{"true"}, why: "it is always on"},
		"service-account-lookup":                       {boolean: true, only: []string{"true"}, why: "it is always on"},
		"encryption-provider-config-automatic-reload":  {boolean: true, only: []string{"false"}, why: "restart the server after a change"},
		"etcd-prefix":                                  {only: []string{"/registry"}, why: "the prefix is fixed"},
		"etcd-servers-overrides":                       {only: []string{""}, why: "one etcd stores all objects"},
		"kubernetes-service-node-port":                 {only: []string{"0"}, why: "the Service kubernetes has a cluster IP"},
		"max-connection-bytes-per-sec":                 {only: []string{"0"}, why: "connections are not throttled"},
		"service-account-signing-endpoint":             {only: []string{""}, why: "use --service-account-signing-key-file"},
		"storage-backend":                              {only: []string{"", "etcd3"}, why: "objects are stored in etcd"},
		"tls-curve-preferences":                        {only: []string{""}, why: "the curves are those of Go"},
		"tls-sni-cert-key":                             {only: []string{""}, why: "use --tls-cert-file"},
		"disable-http2-serving":                        {boolean: true, only: []string{"false"}, why: "HTTP/2 is always on"},
		"aggregator-reject-forwarding-redirect":        {boolean: true, why: "the server forwards no redirect"},
		"allow-metric-labels":                          {why: allMetrics},
		"allow-metric-labels-manifest":                 {why: allMetrics},
		"disabled-metrics":                             {why: allMetrics},
		"show-hidden-metrics-for-version":              {why: allMetrics},
		"authentication-token-webhook-cache-ttl":       {why: "the server asks no webhook for tokens"},
		"authentication-token-webhook-version":         {why: "the server asks no webhook for tokens"},
		"authorization-webhook-cache-authorized-ttl":   {why: "the server asks no webhook for permissions"},
		"authorization-webhook-cache-unauthorized-ttl": {why: "the server asks no webhook for permissions"},
		"authorization-webhook-version":                {why: "the server asks no webhook for permissions"},
		"contention-profiling":                         {boolean: true, why: "the server has no profile of blocking"},
		"coordinated-leadership-lease-duration":        {why: noLeadership},
		"coordinated-leadership-renew-deadline":        {why: noLeadership},
		"coordinated-leadership-retry-period":          {why: noLeadership},
		"cors-allowed-origins":                         {why: "the server answers no requests of other origins"},
		"delete-collection-workers":                    {why: ownStorage},
		"emulation-forward-compatible":                 {boolean: true, why: "the server serves one version of Kubernetes"},
		"runtime-config-emulation-forward-compatible":  {boolean: true, why: "the server serves one version of Kubernetes"},
		"enable-aggregator-routing":                    {boolean: true, why: "the server routes to addresses of endpoints"},
		"enable-bootstrap-token-auth":                  {boolean: true, why: `the server accepts no bootstrap tokens; use "holdfast kubeconfig"`},
		"enable-logs-handler":                          {boolean: true, why: "the server does not serve its logs"},
		"endpoint-reconciler-type":                     {why: "servers find each other by Leases"},
		"etcd-compaction-interval":                     {why: ownHistory},
		"etcd-count-metric-poll-period":                {why: ownStorage},
		"etcd-db-metric-poll-interval":                 {why: ownStorage},
		"etcd-healthcheck-timeout":                     {why: ownStorage},
		"etcd-readycheck-timeout":                      {why: ownStorage},
		"lease-reuse-duration-seconds":                 {why: ownStorage},
		"storage-initialization-timeout":               {why: ownStorage},
		"storage-media-type":                           {why: ownStorage},
		"watch-cache":                                  {boolean: true, why: ownHistory},
		"watch-cache-sizes":                            {why: ownHistory},
		"default-watch-cache-size":                     {why: ownHistory},
		"external-hostname":                            {why: "the server writes no URLs with its name"},
		"goaway-chance":                                {why: "the server closes no connections to spread clients"},
		"http2-max-streams-per-connection":             {why: "a connection has at most 1000 requests at a time"},
		"livez-grace-period":                           {why: "/livez does not depend on the start"},
		"min-request-timeout":                          {why: "a watch lasts at least 30 minutes, as in Kubernetes"},
		"permit-address-sharing":                       {boolean: true, why: "the server opens its port alone"},
		"permit-port-sharing":                          {boolean: true, why: "the server opens its port alone"},
		"peer-advertise-ip":                            {why: noPeers},
		"peer-advertise-port":                          {why: noPeers},
		"peer-ca-file":                                 {why: noPeers},
		"service-account-extend-token-expiration":      {boolean: true, why: "a token lives as long as its request says"},
		"shutdown-send-retry-after":                    {boolean: true, why: "it is always on"},
		"shutdown-watch-termination-grace-period":      {why: "watches end within a second"},
		"strict-transport-security-directives":         {why: "the server sends no such header"},
		"tracing-config-file":                          {why: "the server exports no traces"},
		"log-flush-frequency":                          {why: textLog},
		"log-json-info-buffer-size":                    {why: textLog},
		"log-json-split-stream":                        {boolean: true, why: textLog},
		"log-text-info-buffer-size":                    {why: textLog},
		"log-text-split-stream":                        {boolean: true, why: textLog},
		"vmodule":                                      {why: textLog},
	}
}

// addForeignFlags adds these flags. The help does not list them.
func addForeignFlags(flags *pflag.FlagSet) {
	for name, f := range foreignFlags() {
		flags.String(name, "", "flag of kube-apiserver: "+f.why)
		flag := flags.Lookup(name)
		flag.Hidden = true
		if f.boolean {
			flag.NoOptDefVal = "true"
		}
	}
}

// checkForeign returns a warning for each of these flags that was given, in the order of their
// names, or an error for a value that the server cannot ignore.
func checkForeign(flags *pflag.FlagSet) (warnings []string, err error) {
	all := foreignFlags()
	flags.Visit(func(flag *pflag.Flag) {
		f, ok := all[flag.Name]
		value := flag.Value.String()
		switch {
		case !ok || slices.Contains(f.only, value):
		case len(f.only) > 0:
			if err == nil {
				err = fmt.Errorf("--%s=%s is not possible here: %s (accepted: %s)", flag.Name, value, f.why, quoted(f.only))
			}
		default:
			warnings = append(warnings, fmt.Sprintf("--%s has no effect: %s", flag.Name, f.why))
		}
	})
	return warnings, err
}

func quoted(values []string) string {
	if len(values) == 1 && values[0] == "" {
		return "no value"
	}
	return strings.Trim(strings.Join(values, ", "), ", ")
}
