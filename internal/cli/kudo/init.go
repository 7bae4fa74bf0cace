package kudo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/validation"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/image"
	"holdfast.dev/holdfast/internal/othercluster/installation"
	"holdfast.dev/holdfast/internal/othercluster/manager"
	"holdfast.dev/holdfast/internal/othercluster/manager/setup"
	"holdfast.dev/holdfast/internal/othercluster/webhook"
)

const initHelp = `Make a cluster run operator packages: the kinds of kudo.dev, a webhook that
judges every write of them, and a manager that answers it and runs the plans.

A server of Holdfast does all of that itself; there, nothing is installed. On
any other cluster, the namespace kudo-system gets the manager as a Deployment,
with its account, its certificate and the rights it needs. Run it again to
change the image or to renew the certificate. It leaves objects that need no
change as they are.

The image has the program holdfast as its entry point. With --webhook-url the
manager runs outside of the cluster ("holdfast kudo manager"), and the API
server asks it there.

--dry-run says for each object whether it is missing or differs, and lets the server
try the others. -o prints the objects, with new keys. --dry-run=client only prints
them, and asks no server.`

// initialization holds the flags of the command.
type initialization struct {
	connection
	waiting
	image, account, webhookURL, output string
	crdOnly, verify                    bool
	dryRun                             command.DryRun
	// note says so if no registry has the image.
	note func()
}

func newInitCommand(program Program) *cobra.Command {
	var i initialization
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make a cluster run operator packages",
		Long:  initHelp,
		Example: `  holdfast kudo init --image registry.example.com/holdfast:1.0 --wait
  holdfast kudo init --dry-run=client -o yaml | kubectl apply -f -
  holdfast kudo init --webhook-url https://10.0.0.7:9443`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			i.note = func() {
				if i.webhookURL == "" && !i.crdOnly && !i.verify {
					image.Note(cmd.ErrOrStderr(), i.image, program.Version)
				}
			}
			return i.run(cmd)
		},
	}
	flags := cmd.Flags()
	i.connection.AddFlags(flags)
	flags.StringVar(&i.image, "image", image.Default(program.Version), "image of the manager, whose entry point is holdfast")
	flags.StringVarP(&i.image, "kudo-image", "i", i.image, "the same as --image")
	flags.StringVar(&i.account, "service-account", manager.Name, "service account of the manager; init creates it if it is missing")
	flags.StringVar(&i.webhookURL, "webhook-url", "", "where the API server reaches a manager that runs outside of the cluster (https)")
	i.dryRun.AddFlag(flags)
	flags.StringVarP(&i.output, "output", "o", "", "with --dry-run: print the objects, with new keys, as yaml (the default of --dry-run=client) or json")
	i.Waiting.AddFlags(flags, "the webhook answers")
	flags.Lookup("wait").Shorthand = "w"
	i.addSeconds(flags, "wait-timeout")
	flags.BoolVar(&i.crdOnly, "crd-only", false, "install only the definitions of the three kinds; plans do not run without the rest")
	flags.BoolVar(&i.verify, "verify", false, "change nothing, and fail if an object is missing or differs")
	flags.Bool("upgrade", false, "change an installation that is there; init always does")
	flags.Bool("unsafe-self-signed-webhook-ca", false, "create a certificate authority for the webhook; init always does")
	return cmd
}

func (i *initialization) run(cmd *cobra.Command) error {
	if wrong := validation.NameIsDNSSubdomain(i.account, false); len(wrong) > 0 {
		return fmt.Errorf("--service-account %q: %s", i.account, strings.Join(wrong, "; "))
	}
	config := setup.Config{Image: i.image, ServiceAccount: i.account, DefinitionsOnly: i.crdOnly}
	var err error
	if config.WebhookURL, err = webhook.ParseURL(i.webhookURL); err != nil {
		return err
	}
	if i.dryRun == command.DryRunClient {
		return i.print(cmd.OutOrStdout(), config)
	}
	if i.output == "" {
		return i.install(cmd.Context(), config, cmd.OutOrStdout())
	}
	if !i.dryRun.IsSet() {
		return errors.New("-o goes with --dry-run")
	}
	if err := i.install(cmd.Context(), config, cmd.ErrOrStderr()); err != nil {
		return err
	}
	return i.print(cmd.OutOrStdout(), config)
}

// print prints the objects for --dry-run, with new keys.
func (i *initialization) print(out io.Writer, config setup.Config) error {
	format := i.output
	if format == "" {
		format = "yaml"
	}
	var err error
	if config.Keys, err = manager.CompleteKeys(nil, config.Hosts(), time.Now()); err != nil {
		return fmt.Errorf("keys of the webhook: %w", err)
	}
	objects, err := setup.Objects(config)
	if err != nil {
		return err
	}
	i.note()
	return installation.Print(out, objects, format)
}

// install applies the objects and waits for the webhook, if --wait is set.
func (i *initialization) install(ctx context.Context, config setup.Config, out io.Writer) error {
	access, err := i.config()
	if err != nil {
		return err
	}
	installer, err := setup.New(access)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	installer.Verify = i.verify || i.dryRun.IsSet()
	differing := 0
	err = installer.Install(ctx, config, func(outcome installation.Outcome) {
		if outcome.What != "unchanged" {
			differing++
		}
		fmt.Fprintf(out, "%s/%s %s%s\n", strings.ToLower(outcome.Object.GetKind()), outcome.Object.GetName(), outcome.What, i.dryRun.Suffix())
	})
	if errors.Is(err, manager.ErrBuiltIn) {
		fmt.Fprintf(out, "%v: nothing is installed\n", err)
		return nil
	}
	if i.verify && err == nil && differing > 0 {
		err = command.Refused(fmt.Errorf("objects that are missing or differ: %d; run init to install them", differing))
	}
	if err != nil {
		return err
	}
	i.note()
	if !i.Wait || i.dryRun.IsSet() {
		return nil
	}
	limited, cancel := i.Limit(ctx)
	defer cancel()
	if err := installer.Wait(limited); err != nil {
		return command.Refused(fmt.Errorf("%s: %w", i.endReason(ctx), err))
	}
	fmt.Fprintln(out, "the webhook answers")
	return nil
}
