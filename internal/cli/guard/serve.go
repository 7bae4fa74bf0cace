package guard

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/othercluster/webhook"
)

const serveHelp = `Answer the API server of a cluster that "holdfast guard init" was run for: refuse updates
that change immutable fields, warn about writes to fields that kubectl apply owns, and
refuse edits of them.

Several guards can run: all of them answer the API server, and the holder of the Lease
holdfast-guard/holdfast-guard writes the webhook configuration. It contains the resources
that have rules, and no others. The guard takes its certificate from the Secret
holdfast-guard/holdfast-guard-webhook and renews it 60 days before its end, unless flags
name files.

Inside of a cluster, the guard uses the account of its pod, elsewhere a kubeconfig.`

// service holds the flags of the command.
type service struct {
	command.Server
	addresses webhook.Addresses
	ownership string
	excluded  resources
	config    guard.Config
	verbosity int
}

func newServeCommand(program Program) *cobra.Command {
	var s service
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer the API server about updates of guarded resources",
		Long:  serveHelp,
		Example: `  holdfast guard init --webhook-url https://10.0.0.7:9443
  holdfast guard serve --webhook-address 10.0.0.7:9443 --webhook-url https://10.0.0.7:9443`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			program.Logging(cmd.Context(), s.verbosity)
			return s.run(cmd)
		},
	}
	flags := cmd.Flags()
	s.AddFlags(flags)
	s.addresses.AddFlags(flags)
	flags.StringVar(&s.config.URL, "webhook-url", "", "where the API server reaches a guard that runs outside of the cluster (https)")
	flags.StringVar(&s.config.CertFile, "tls-cert-file", "", "certificate to answer with (default: that of the Secret)")
	flags.StringVar(&s.config.KeyFile, "tls-private-key-file", "", "key of the certificate")
	flags.StringVar(&s.config.CAFile, "tls-ca-file", "", "certificate of the authority that signed it, for the webhook configuration")
	flags.IntVar(&s.config.Status, "immutability-status", http.StatusBadRequest, "HTTP status of refusals: 400 or 422")
	flags.StringVar(&s.ownership, "ownership", string(judgement.EnforceEdit),
		"answer to a write to a field that apply owns: enforce-edit (a warning, and an edit is refused), warn, or off")
	flags.StringSliceVar(&s.config.ExcludeNamespaces, "exclude-namespaces", nil,
		"namespaces whose objects are not guarded, besides kube-system, kube-public, kube-node-lease and holdfast-guard")
	s.excluded.addFlags(flags)
	flags.DurationVar(&s.config.AuditInterval, "audit-interval", 10*time.Minute,
		"how often the leader looks for what the rules do not protect, for its metrics and report; 0 is never")
	flags.IntVarP(&s.verbosity, "v", "v", 1, "how much to log on stderr: 0 warnings and errors, 1 also refused updates, and up more")
	return cmd
}

// run listens on the addresses of the flags and runs the guard.
func (s *service) run(cmd *cobra.Command) error {
	files := []string{s.config.CertFile, s.config.KeyFile, s.config.CAFile}
	if slices.Contains(files, "") && strings.Join(files, "") != "" {
		return errors.New("--tls-cert-file, --tls-private-key-file and --tls-ca-file belong together")
	}
	if s.config.Status != http.StatusBadRequest && s.config.Status != http.StatusUnprocessableEntity {
		return fmt.Errorf("--immutability-status %d: must be 400 or 422", s.config.Status)
	}
	if _, err := webhook.ParseURL(s.config.URL); err != nil {
		return err
	}
	var err error
	if s.config.Ownership, err = judgement.ParseMode(s.ownership); err != nil {
		return fmt.Errorf("--ownership: %w", err)
	}
	if s.config.AuditInterval == 0 {
		s.config.AuditInterval = -1
	}
	s.config.ExcludeResources = s.excluded.parsed()
	if s.config.Client, err = s.Config(); err != nil {
		return err
	}
	if s.config.PoliciesOnly, err = guard.IsHoldfast(s.config.Client); err != nil {
		return err
	}
	if s.config.PoliciesOnly {
		if err := sayHoldfast(cmd, s.config.Client); err != nil {
			return err
		}
	}
	if s.config.Webhook, s.config.Health, err = s.addresses.Listen(); err != nil {
		return err
	}
	s.config.Ready = func() {
		fmt.Fprintf(cmd.OutOrStdout(), "holdfast: guard answers at https://%s\n", s.config.Webhook.Addr())
	}
	return guard.Run(cmd.Context(), s.config)
}
