package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/access/openid"
	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/native"
)

const serveHelp = `Serve the Kubernetes API.

Without further flags everything lives in the data directory: an etcd member
inside this process, the certificates and the admin kubeconfig. One line on
stdout says when the server is ready and where that kubeconfig is. SIGTERM and
Ctrl-C drain and end it within five seconds.

No pods are run and no workload controllers exist here: Deployments are stored,
validated and watched, and it is your controllers that act on them.`

// lifetime is the default of the longest lifetime of tokens and certificates.
const lifetime = 365 * 24 * time.Hour

func newServeCommand() *cobra.Command {
	var config apiserver.Config
	var verbosity int
	var authorization string
	var operators bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the Kubernetes API, with etcd inside or outside",
		Long:  serveHelp,
		Args:  cobra.NoArgs,
		Example: `  # A server for this machine; the kubeconfig is printed
  holdfast serve

  # In a directory and on a port of your own
  holdfast serve --data-dir ./data --secure-port 7443

  # On an etcd cluster, any number of replicas
  holdfast serve --etcd-servers https://10.0.0.1:2379,https://10.0.0.2:2379 \
    --etcd-cafile ca.crt --etcd-certfile client.crt --etcd-keyfile client.key`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			setLogging(cmd.Context(), verbosity)
			if authorization != "RBAC" {
				return fmt.Errorf("--authorization-mode %q: must be RBAC", authorization)
			}
			config.WithoutOperators = !operators
			if config.DataDir == "" {
				dir, err := defaultDataDir()
				if err != nil {
					return err
				}
				config.DataDir = dir
			}
			server, err := apiserver.New(cmd.Context(), config)
			if errors.Is(err, syscall.EADDRINUSE) {
				return fmt.Errorf("%w: choose another port with --secure-port", err)
			}
			if err != nil {
				return err
			}
			return server.Run(cmd.Context(), func() {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "holdfast: ready at %s, kubeconfig %s\n", server.URL(), server.Kubeconfig())
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.DataDir, "data-dir", "", "directory for etcd's data, certificates and the admin kubeconfig (default: the "+
		"user's data directory)")
	flags.StringVar(&config.BindAddress, "bind-address", "127.0.0.1", "IP address to listen on")
	flags.StringVar(&config.AdvertiseAddress, "advertise-address", "", "IP address by which others reach the server, for the Service "+
		"kubernetes (default: the bind address; for 127.0.0.1 and 0.0.0.0 the host's)")
	flags.IntVar(&config.Port, "secure-port", 6443, "port to listen on; 0 picks a free one")
	flags.StringVar(&config.Kubeconfig, "kubeconfig", "", "where to write the admin kubeconfig (default: <data-dir>/admin.kubeconfig)")
	flags.StringSliceVar(&config.Etcd.Servers, "etcd-servers", nil, "etcd servers to use instead of the embedded one (scheme://host:port, "+
		"comma separated)")
	flags.StringVar(&config.Etcd.CAFile, "etcd-cafile", "", "certificate authority of the etcd servers")
	flags.StringVar(&config.Etcd.CertFile, "etcd-certfile", "", "client certificate for the etcd servers")
	flags.StringVar(&config.Etcd.KeyFile, "etcd-keyfile", "", "key of the client certificate for the etcd servers")
	flags.Var(&config.Anonymous, "anonymous-auth", "what requests without a credential may reach: health, false (nothing) or true (what "+
		"roles allow system:anonymous)")
	flags.StringVar(&config.TokenFile, "token-auth-file", "", "file with bearer tokens, a line token,user,uid,\"group1,group2\" each")
	addOpenIDFlags(flags, &config.OpenID)
	flags.DurationVar(&config.MaxTokenLife, "service-account-max-token-expiration", lifetime, "longest lifetime of a token of a service "+
		"account; a request for a longer one is shortened")
	flags.DurationVar(&config.MaxCertificateLife, "cluster-signing-duration", lifetime, "longest lifetime of a client certificate that "+
		"is signed for a CertificateSigningRequest, at most a year")
	flags.StringVar(&config.EncryptionConfig, "encryption-provider-config", "", "file with an EncryptionConfiguration for what is stored")
	flags.StringVar(&config.Audit.PolicyFile, "audit-policy-file", "", "file with the policy of what is logged of requests")
	flags.StringVar(&config.Audit.LogPath, "audit-log-path", "-", "file the audit log goes to; - is stdout")
	flags.StringVar(&authorization, "authorization-mode", "RBAC", "how requests are authorized; RBAC is the one there is")
	flags.StringSliceVar(&config.EnableAdmission, "enable-admission-plugins", nil, "admission plugins to turn on, by Kubernetes' "+
		"names, comma separated; all that exist here are on by default")
	flags.StringSliceVar(&config.DisableAdmission, "disable-admission-plugins", nil, "admission plugins to turn off, by Kubernetes' "+
		"names, comma separated")
	flags.IntVar(&config.ImmutabilityStatus, "immutability-status", 400, "HTTP status of a change that a marker of a custom resource "+
		"forbids: 400, or 422 for tools that recreate an object on Invalid")
	flags.StringVar(&config.Ownership, "ownership", "enforce-edit", "what becomes of a write that changes what apply owns: enforce-edit (a "+
		"warning, and an edit is refused), warn, or off")
	flags.BoolVar(&operators, "operators", true, "serve operator packages: their kinds, their admission and their controller; false leaves "+
		"that to \"holdfast kudo init\" and \"holdfast kudo manager\"")
	flags.IntVarP(&verbosity, "v", "v", 0, "how much to log on stderr: 0 warnings and errors, 1 and up what Kubernetes logs at that level")
	features := native.NewFeatures()
	config.Features = features
	addFeatureGates(flags, features)
	return cmd
}

// defaultDataDir returns the data directory of the user for holdfast.
func defaultDataDir() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "holdfast"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("no home directory to keep data in: name one with --data-dir")
	}
	return filepath.Join(home, ".local", "share", "holdfast"), nil
}

// addOpenIDFlags adds the flags for authentication with an OpenID Connect provider, which
// have the names of kube-apiserver's.
func addOpenIDFlags(flags *pflag.FlagSet, config *openid.Config) {
	flags.StringVar(&config.File, "authentication-config", "", "file with an AuthenticationConfiguration: whose tokens are accepted, "+
		"instead of the oidc flags")
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
