package kudo

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/othercluster/manager"
	"holdfast.dev/holdfast/internal/othercluster/webhook"
)

const managerHelp = `Run operator packages on a cluster that "holdfast kudo init" was run for: answer
its API server about writes of Instances and OperatorVersions, and run plans.

A plan writes with the rights of the user that requested it. Several managers can
run: all of them answer the API server, and the holder of the Lease
kudo-system/kudo-manager runs the plans. The manager takes its certificate from the
Secret kudo-system/kudo-webhook and renews it 60 days before its end, unless flags
name files.

Inside of a cluster, the manager uses the account of its pod, elsewhere a kubeconfig.
After SIGTERM or Ctrl-C it ends, and the next manager continues the plans.`

// management holds the flags of the command.
type management struct {
	connection
	addresses webhook.Addresses
	config    manager.Config
	verbosity int
}

func newManagerCommand(program Program) *cobra.Command {
	var m management
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Run operator packages on a cluster: admission and plans",
		Long:  managerHelp,
		Example: `  holdfast kudo init --webhook-url https://10.0.0.7:9443
  holdfast kudo manager --webhook-address 10.0.0.7:9443`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			program.Logging(cmd.Context(), m.verbosity)
			return m.run(cmd)
		},
	}
	flags := cmd.Flags()
	m.connection.AddFlags(flags)
	m.addresses.AddFlags(flags)
	flags.StringVar(&m.config.ServiceAccount, "service-account", manager.Name, "service account that the managers run under, as given to init")
	flags.StringVar(&m.config.CertFile, "tls-cert-file", "", "certificate to answer with (default: that of the Secret)")
	flags.StringVar(&m.config.KeyFile, "tls-private-key-file", "", "key of the certificate")
	flags.BoolVar(&m.config.Unattended, "unattended", false, "do not wait for workloads that have no status, because no controller runs them in this cluster")
	flags.IntVarP(&m.verbosity, "v", "v", 0, "how much to log on stderr: 0 warnings and errors, 1 and up more")
	return cmd
}

// run listens on the addresses of the flags and runs the manager.
func (m *management) run(cmd *cobra.Command) error {
	if (m.config.CertFile == "") != (m.config.KeyFile == "") {
		return errors.New("--tls-cert-file and --tls-private-key-file belong together")
	}
	var err error
	if m.config.Client, err = m.connection.config(); err != nil {
		return err
	}
	if m.config.Webhook, m.config.Health, err = m.addresses.Listen(); err != nil {
		return err
	}
	m.config.Ready = func() {
		fmt.Fprintf(cmd.OutOrStdout(), "holdfast: manager answers at https://%s\n", m.config.Webhook.Addr())
	}
	return manager.Run(cmd.Context(), m.config)
}
