package guard

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/cli/arguments"
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
outside of the cluster ("holdfast guard serve --webhook-url").`

// initialization holds the flags of the command.
type initialization struct {
	connection
	image, url, output  string
	dryRun, certManager bool
}

func newInitCommand(program Program) *cobra.Command {
	var i initialization
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Install the guard on a cluster",
		Long:  initHelp,
		Example: `  holdfast guard init --image registry.example.com/holdfast:1.0
  holdfast guard init --dry-run -o yaml > guard.yaml
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
	i.connection.addFlags(flags)
	flags.StringVar(&i.image, "image", image.Default(program.Version), "image of the guard, whose entry point is holdfast")
	flags.StringVar(&i.url, "webhook-url", "", "where the API server reaches a guard that runs outside of the cluster (https)")
	flags.BoolVar(&i.certManager, "cert-manager", false, "let cert-manager make the certificate; it must be installed")
	flags.BoolVar(&i.dryRun, "dry-run", false, "print what would be applied, with new keys, and ask no server")
	flags.StringVarP(&i.output, "output", "o", "", "with --dry-run: yaml, which is also the default, or json")
	return cmd
}

func (i *initialization) run(cmd *cobra.Command) error {
	config := guardsetup.Config{Image: i.image, CertManager: i.certManager}
	var err error
	if config.URL, err = webhook.ParseURL(i.url); err != nil {
		return err
	}
	if i.dryRun {
		return i.print(cmd, config)
	}
	if i.output != "" {
		return errors.New("--output goes with --dry-run")
	}
	access, err := i.config()
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
	return guardsetup.Install(cmd.Context(), access, config, reporter(cmd))
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
func reporter(cmd *cobra.Command) func(installation.Outcome) {
	return func(outcome installation.Outcome) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s/%s %s\n", strings.ToLower(outcome.Object.GetKind()), outcome.Object.GetName(), outcome.What)
	}
}

const uninstallHelp = `Remove the guard from a cluster.

The command first takes the right to write the webhook configuration from the guard, and
deletes the configuration. From then on the API server no longer asks the guard, and
guarded objects can be updated freely. The command waits for three seconds, because the
guard writes the configuration again until all API servers know that it may not. Then it
deletes the rest. The kind ImmutabilityPolicy and its objects stay, unless --policies is set.`

func newUninstallCommand() *cobra.Command {
	var access connection
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
			config, err := access.config()
			if err != nil {
				return err
			}
			options.Report = reporter(cmd)
			return guardsetup.Uninstall(cmd.Context(), config, options)
		},
	}
	access.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&options.WebhooksOnly, "webhooks-only", false, "only delete the webhook configuration, and the guard's right to write it")
	cmd.Flags().BoolVar(&options.Kind, "policies", false, "also delete the kind ImmutabilityPolicy and all policies")
	return cmd
}
