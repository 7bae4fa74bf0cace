package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/node"
)

const nodeHelp = `Keep the volumes of a node's pods as files on this host.

The agent follows the Pods that are bound to its node (spec.nodeName) and keeps
their configMap, secret, downwardAPI and projected volumes under
<root>/pods/<uid>/volumes/<name>/, as a kubelet would. The link
<root>/by-name/<namespace>/<pod>/<name> leads there, and stays when another pod of
the same name replaces the pod. The agent runs no containers: use it to put
configuration on hosts.

The agent watches mutable ConfigMaps and Secrets. It reads an immutable one once and
never watches it. The files stay while the server does not answer, and when the agent
restarts.

Run it with the credential of its node ("holdfast kubeconfig --node NAME"). It writes
the content of Secrets only to a file system in memory, such as that of the default
root, unless --secrets-on-disk allows a disk.`

// nodeRoot is the default root of the agent. On Linux with systemd, /run is in memory.
const nodeRoot = "/run/holdfast"

func newNodeCommand() *cobra.Command {
	config := node.Config{Version: version}
	var server command.Server
	log := logSettings{info: true}
	var namespaceLimit resource.QuantityValue
	gates := native.NewFeatures()
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Keep the volumes of a node's pods as files on this host",
		Long:  nodeHelp,
		Args:  arguments.None,
		Example: `  # The credential, from an administrator's machine
  holdfast kubeconfig --node host-1 --output-file host-1.kubeconfig

  # The agent, on the host
  holdfast node --name host-1 --kubeconfig host-1.kubeconfig

  # What it has, whether it runs or not
  holdfast node status`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log.out = cmd.ErrOrStderr()
			logger, err := log.use(cmd.Context())
			if err != nil {
				return err
			}
			config.NamespaceLimit = namespaceLimit.Value()
			config.WatchImmutable = !gates.Enabled(native.ImmutableEphemeralVolumes)
			unnamed := completeName(&config)
			return log.lifecycle(logger.With("node", config.Name), "agent", func() error {
				if unnamed != nil {
					return unnamed
				}
				return runNode(cmd, config, nodeSession{server: &server, log: log})
			})
		},
	}
	flags := cmd.Flags()
	server.AddFlags(flags)
	flags.StringVar(&config.Name, "name", "", "name of the node (default: the name of this host, in lower case)")
	flags.StringVar(&config.MetricsAddress, "metrics-address", "127.0.0.1:9464", "address that serves /metrics; empty serves none")
	flags.StringVar(&config.HooksDir, "hooks-dir", "", "directory, root's alone, with the executables that pods may name as hooks; without "+
		"it there are none")
	flags.StringVar(&config.HooksUser, "hooks-user", "", "user, by name or number, that hooks run as")
	flags.DurationVar(&config.HookTimeout, "hook-timeout", 30*time.Second, "how long one run of a hook may take")
	flags.IntVar(&config.HookConcurrency, "hook-concurrency", 8, "how many hooks may run at the same time")
	flags.StringVar(&config.FilesGroup, "files-group", "", "group, by name or number, of the files of pods that set neither fsGroup, "+
		"runAsGroup nor runAsUser (default: the group of --hooks-user)")
	flags.BoolVar(&config.SecretsOnDisk, "secrets-on-disk", false, "keep the content of Secrets and tokens although the root is not in memory")
	log.addFlag(flags)
	flags.IntVarP(&log.verbosity, "v", "v", 0, "how much to log on stderr: 0 changes of volumes, warnings and errors, 1 and up more")
	cmd.PersistentFlags().StringVar(&config.Root, "root", nodeRoot, "directory for volumes and state")
	flags.DurationVar(&config.FinishedTTL, "finished-ttl", 10*time.Minute, "how long the files of a pod stay after it succeeded or failed")
	flags.Var(&namespaceLimit, "namespace-limit", "how much of the root the pods of one namespace may use, such as 64Mi "+
		"(default: a quarter of the file system of the root)")
	flags.BoolVar(&config.TakeOver, "take-over", false, "use a root that belongs to another node, and remove the volumes of that node")
	gates.AddFlag(flags)
	flags.Lookup("feature-gates").Usage = "ImmutableEphemeralVolumes=false watches immutable objects like all others"
	cmd.AddCommand(newNodeStatusCommand(&config.Root))
	return cmd
}

// completeName sets the name of the node to that of the host if it is empty, and checks it.
func completeName(config *node.Config) error {
	if config.Name == "" {
		hostname, err := os.Hostname()
		if err != nil {
			return errors.New("node: this host has no name: give the node one with --name")
		}
		config.Name = strings.ToLower(hostname)
	}
	if err := node.CheckName(config.Name); err != nil {
		return fmt.Errorf("node: --name: %w", err)
	}
	return nil
}

// nodeSession is what an agent needs beside its configuration.
type nodeSession struct {
	server *command.Server
	log    logSettings
}

// runNode runs an agent with the credential of a kubeconfig until the context of the command
// ends.
func runNode(cmd *cobra.Command, config node.Config, session nodeSession) error {
	access, err := session.server.Config()
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	credential, err := node.KeepCredential(access, node.Claim{Root: config.Root, Name: config.Name, TakeOver: config.TakeOver})
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	defer func() { _ = credential.Close() }()
	config.Credential = credential
	client, err := node.Connect(access, func(line string) {
		session.log.announce(cmd.ErrOrStderr(), slog.LevelWarn, fmt.Sprintf("node %s: %s", config.Name, line))
	})
	if err != nil {
		return fmt.Errorf("node: kubeconfig: %w", err)
	}
	config.Client = client
	agent, err := node.New(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	var renewal sync.WaitGroup
	defer renewal.Wait()
	defer cancel()
	if credential != nil {
		renewal.Go(func() { credential.Run(ctx, client) })
	}
	session.log.announce(cmd.OutOrStdout(), slog.LevelInfo, fmt.Sprintf("node %s keeps volumes in %s", config.Name, agent.Root))
	return agent.Run(ctx)
}
