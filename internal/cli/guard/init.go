package guard

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/image"
	"holdfast.dev/holdfast/internal/othercluster/guard"
	guardsetup "holdfast.dev/holdfast/internal/othercluster/guard/setup"
	"holdfast.dev/holdfast/internal/othercluster/installation"
	"holdfast.dev/holdfast/internal/othercluster/webhook"
)

const initHelp = `Install the guard on a cluster: the kind ImmutabilityPolicy, and in the namespace
holdfast-guard a Deployment with its account, its certificate and the rights it needs.

The guard itself writes the webhook configuration, when it answers. Run init again to
change the image or to renew the authority of the certificate. It leaves objects that
need no change as they are.

The image has the program holdfast as its entry point. With --webhook-url the guard runs
outside of the cluster ("holdfast guard serve --webhook-url").

--dry-run says for each object whether it is missing or differs, and lets the server
try the others. -o prints the objects, with new keys. --dry-run=client only prints
them, and asks no server.`

// initialization holds the flags of the command.
type initialization struct {
	command.Server
	image, url, output string
	certManager        bool
	dryRun             command.DryRun
}

func newInitCommand(program Program) *cobra.Command {
	var i initialization
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Install the guard on a cluster",
		Long:  initHelp,
		Example: `  holdfast guard init --image registry.example.com/holdfast:1.0
  holdfast guard init --dry-run=client -o yaml > guard.yaml
  holdfast guard init --webhook-url https://10.0.0.7:9443`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if i.url == "" {
				image.Note(cmd.ErrOrStderr(), i.image, program.Version)
			}
			return i.run(cmd)
		},
	}
	flags := cmd.Flags()
	i.AddFlags(flags)
	flags.StringVar(&i.image, "image", image.Default(program.Version), "image of the guard, whose entry point is holdfast")
	flags.StringVar(&i.url, "webhook-url", "", "where the API server reaches a guard that runs outside of the cluster (https)")
	flags.BoolVar(&i.certManager, "cert-manager", false, "let cert-manager make the certificate; it must be installed")
	i.dryRun.AddFlag(flags)
	flags.StringVarP(&i.output, "output", "o", "", "with --dry-run: print the objects, with new keys, as yaml (the default of --dry-run=client) or json")
	return cmd
}

func (i *initialization) run(cmd *cobra.Command) error {
	config := guardsetup.Config{Image: i.image, CertManager: i.certManager, Verify: i.dryRun.IsSet()}
	var err error
	if config.URL, err = webhook.ParseURL(i.url); err != nil {
		return err
	}
	if i.dryRun == command.DryRunClient {
		return i.print(cmd, config)
	}
	if i.output != "" && !i.dryRun.IsSet() {
		return errors.New("-o goes with --dry-run")
	}
	access, err := i.Config()
	if err != nil {
		return err
	}
	isHoldfast, err := guard.IsHoldfast(access)
	if err != nil {
		return err
	}
	if isHoldfast {
		if err := sayHoldfast(cmd, access); err != nil {
			return err
		}
	}
	if i.output == "" {
		return guardsetup.Install(cmd.Context(), access, config, reporter(cmd.OutOrStdout(), i.dryRun))
	}
	if err := guardsetup.Install(cmd.Context(), access, config, reporter(cmd.ErrOrStderr(), i.dryRun)); err != nil {
		return err
	}
	return i.print(cmd, config)
}

// sayHoldfast says what a guard adds to our own server. Earlier releases do not enforce policies.
func sayHoldfast(cmd *cobra.Command, access *rest.Config) error {
	enforced, err := guard.EnforcesPolicies(cmd.Context(), access)
	if err != nil {
		return err
	}
	adds := "The guard only adds the rules of ImmutabilityPolicies."
	if enforced {
		adds = "It also enforces ImmutabilityPolicies, so the guard adds nothing."
	}
	fmt.Fprintln(cmd.ErrOrStderr(), `note: this server is "holdfast serve". It enforces the markers and the annotation of definitions, and
judges field ownership, without a guard. `+adds)
	return nil
}

// print prints the objects for --dry-run, with new keys.
func (i *initialization) print(cmd *cobra.Command, config guardsetup.Config) error {
	var err error
	if config.Keys, err = guard.Certificates().Complete(nil, config.Hosts(), time.Now()); err != nil {
		return fmt.Errorf("keys of the webhook: %w", err)
	}
	objects, err := guardsetup.Objects(config)
	if err != nil {
		return err
	}
	return installation.Print(cmd.OutOrStdout(), objects, cmp.Or(i.output, "yaml"))
}

// reporter prints what was done with each object.
func reporter(out io.Writer, dryRun command.DryRun) func(installation.Outcome) {
	return func(outcome installation.Outcome) {
		fmt.Fprintf(out, "%s/%s %s%s\n", strings.ToLower(outcome.Object.GetKind()), outcome.Object.GetName(), outcome.What, dryRun.Suffix())
	}
}

const uninstallHelp = `Remove the guard from a cluster.

The command first takes the right to write the webhook configuration from the guard, and
deletes the configuration. From then on the API server no longer asks the guard, and
guarded objects can be updated freely. The command waits for three seconds, because the
guard writes the configuration again until all API servers know that it may not. Then it
deletes the rest. --dry-run names what would be deleted. The kind ImmutabilityPolicy and its objects stay, unless --policies is set.`

func newUninstallCommand() *cobra.Command {
	var access command.Server
	var dryRun command.DryRun
	var options guardsetup.UninstallOptions
	cmd := &cobra.Command{
		Use:     "uninstall",
		Short:   "Remove the guard from a cluster, the webhook configuration first",
		Long:    uninstallHelp,
		Example: `  holdfast guard uninstall`,
		Args:    arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.WebhooksOnly && options.Kind {
				return errors.New("--webhooks-only and --policies exclude each other")
			}
			config, err := access.Config()
			if err != nil {
				return err
			}
			options.DryRun, options.Report = dryRun.IsSet(), reporter(cmd.OutOrStdout(), dryRun)
			return guardsetup.Uninstall(cmd.Context(), config, options)
		},
	}
	access.AddFlags(cmd.Flags())
	dryRun.AddFlag(cmd.Flags())
	cmd.Flags().BoolVar(&options.WebhooksOnly, "webhooks-only", false, "only delete the webhook configuration, and the guard's right to write it")
	cmd.Flags().BoolVar(&options.Kind, "policies", false, "also delete the kind ImmutabilityPolicy and all policies")
	return cmd
}
