// Package cli holds the commands of the holdfast binary. Main runs one and
// gives the exit code; Run is its testable half.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/cli/kudo"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main runs the command line of the process and returns its exit code. SIGINT
// and SIGTERM end a command of ours in good order, and a second one at once. The
// commands of kubectl end at the first, as they do there: many of them do not look
// at their context.
func Main() int {
	c := newCommand(Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, plugin(os.Args))
	ctx := context.Background()
	if c.isOurs() {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop)
	}
	err := c.run(ctx)
	if err == nil || errors.Is(err, context.Canceled) {
		return 0
	}
	fmt.Fprintf(os.Stderr, "holdfast: %v\n", err)
	return 1
}

// plugin is the command line without the name of the program. Called kubectl-kudo,
// as kubectl calls its plugins, the program is the command kudo; as
// kubectl-holdfast it is itself.
func plugin(args []string) []string {
	called := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	if called == "kubectl-kudo" {
		return slices.Concat([]string{"kudo"}, args[1:])
	}
	return args[1:]
}

const (
	program     = "holdfast"
	summary     = "A Kubernetes-compatible control plane in which what must not change, cannot"
	description = `Holdfast serves the Kubernetes API from one binary, with etcd inside it. Stock
kubectl, client-go, controller-runtime and Helm are its clients.

Start it with "holdfast serve"; it prints where the kubeconfig is. The commands
of kubectl are here under their own names, for this server and any other.`
)

// Run runs one command line. An error is one line for a person.
func Run(ctx context.Context, streams Streams, args []string) error {
	return newCommand(streams, args).run(ctx)
}

// command is one command line.
type command struct {
	args []string
	root *cobra.Command
	// ours are the commands below root that are not kubectl's.
	ours []*cobra.Command
}

// newCommand has the root of the command that args name. Ours do not carry the
// global flags of kubectl, so there are two roots; the help of kubectl's names both.
func newCommand(streams Streams, args []string) *command {
	c := &command{args: args, ours: []*cobra.Command{
		newServeCommand(), newNodeCommand(), newKubeconfigCommand(), newVersionCommand(),
		kudo.New(kudo.Program{Version: version, Logging: setLogging}),
	}}
	named := func(cmd *cobra.Command) bool { return len(args) > 0 && cmd.Name() == args[0] }
	if slices.ContainsFunc(c.ours, named) {
		c.root = &cobra.Command{Use: program, Short: summary, Long: description}
	} else {
		c.root = newKubectl(streams, args)
		if replaced, _, err := c.root.Find([]string{"version"}); err == nil {
			c.root.RemoveCommand(replaced)
		}
	}
	c.root.AddCommand(c.ours...)
	// It is left to Main to say what went wrong.
	c.root.SilenceUsage, c.root.SilenceErrors = true, true
	c.root.SetIn(streams.In)
	c.root.SetOut(streams.Out)
	c.root.SetErr(streams.Err)
	c.root.SetArgs(args)
	return c
}

// isOurs says whether what will run is not kubectl's.
func (c *command) isOurs() bool {
	cmd, _, err := c.root.Find(c.args)
	if err != nil {
		return false
	}
	for ; cmd != nil; cmd = cmd.Parent() {
		if slices.Contains(c.ours, cmd) {
			return true
		}
	}
	return false
}

func (c *command) run(ctx context.Context) error { return c.root.ExecuteContext(ctx) }
