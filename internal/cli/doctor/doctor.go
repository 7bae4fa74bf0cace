// Package doctor implements the command `holdfast doctor`, which examines a server or a node agent, and
// says what is wrong and what to do next.
//
//	root.AddCommand(doctor.New(version))
//
// The command exits with 0 if it found nothing wrong, with 1 if it did, and with 2 if it could not
// examine anything: a wrong command line, no kubeconfig, a server that does not answer, a directory that is
// not one of a server or an agent. Its errors have the exit codes of package command.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
)

const help = `Examine a server or a node agent, and say what is wrong and what to do next.

Without flags, the command asks the server of your kubeconfig: version, health,
clock, certificates, disk, etcd, the leader of the controllers, definitions, rules
and the users that may break them, aggregated APIs, webhooks, slow requests, nodes
and plans. It only reads. Some checks need the rights of an administrator, and are
skipped without them.

With --data-dir it examines the data of a server that is stopped, and with --root
the files of a node agent on this host, whether the agent runs or not.

The exit code is 0 if nothing is wrong, 1 if something is, and 2 if nothing could
be examined.`

// flags holds the flags of the command.
type flags struct {
	command.Server
	root, output string
	// stopped is the configuration of a server that is stopped.
	stopped apiserver.Config
}

// New returns the command doctor. version is the version of the program.
func New(version string) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong with a server or a node agent, and what to do next",
		Long:  help,
		Example: `  # The server of your kubeconfig
  holdfast doctor

  # A server that is stopped
  holdfast doctor --data-dir ./data

  # The node agent on this host
  holdfast doctor --root /run/holdfast`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"", "json", "yaml"}, f.output) {
				return fmt.Errorf("doctor: -o %s: must be json or yaml", f.output)
			}
			f.stopped.Version = version
			report, err := f.examine(cmd.Context())
			if err != nil && !errors.Is(err, errUnreachable) {
				return fmt.Errorf("doctor: %w", err)
			}
			if err := report.print(cmd.OutOrStdout(), f.output); err != nil {
				return err
			}
			switch {
			case err != nil:
				return command.Exit(command.ExitUnable)
			case report.found():
				return command.Exit(command.ExitRefused)
			}
			return nil
		},
	}
	set := cmd.Flags()
	f.AddFlags(set)
	set.StringVar(&f.stopped.DataDir, "data-dir", "", "data directory of a server that is stopped")
	set.StringVar(&f.root, "root", "", "directory of a node agent on this host, such as /run/holdfast")
	set.StringVarP(&f.output, "output", "o", "", "json or yaml; empty prints a table")
	etcd := &f.stopped.Etcd
	set.StringSliceVar(&etcd.Servers, "etcd-servers", nil, "with --data-dir: etcd servers of the server")
	set.StringVar(&etcd.CAFile, "etcd-cafile", "", "with --etcd-servers: CA certificate of etcd")
	set.StringVar(&etcd.CertFile, "etcd-certfile", "", "with --etcd-servers: client certificate for etcd")
	set.StringVar(&etcd.KeyFile, "etcd-keyfile", "", "with --etcd-servers: key of the client certificate")
	return cmd
}

// errUnreachable is returned with a report that says why nothing could be examined.
var errUnreachable = errors.New("nothing could be examined")

// examine examines what the flags name.
func (f flags) examine(ctx context.Context) (report, error) {
	named := 0
	for _, text := range []string{f.Kubeconfig, f.stopped.DataDir, f.root} {
		if text != "" {
			named++
		}
	}
	switch {
	case named > 1:
		return nil, errors.New("--kubeconfig, --data-dir and --root name different things: use one of them")
	case f.stopped.DataDir != "":
		return examineStopped(ctx, f.stopped)
	case f.root != "":
		return examineAgent(f.root, time.Now())
	}
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	s, err := connect(config, f.stopped.Version)
	if err != nil {
		return nil, fmt.Errorf("your kubeconfig: %w", err)
	}
	return s.examine(ctx)
}
