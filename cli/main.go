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
// and SIGTERM end the command in good order; a second one ends it at once.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err := Run(ctx, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, plugin(os.Args))
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
	root := newRoot(streams, args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// newRoot is the root of the command that args name. Ours do not carry the global
// flags of kubectl, so there are two roots; the help of kubectl's names both.
func newRoot(streams Streams, args []string) *cobra.Command {
	ours := []*cobra.Command{newServeCommand(), newNodeCommand(), newKubeconfigCommand(), newVersionCommand(), kudo.New(kudo.Program{Version: version, Logging: setLogging})}
	named := func(cmd *cobra.Command) bool { return len(args) > 0 && cmd.Name() == args[0] }
	if slices.ContainsFunc(ours, named) {
		root := &cobra.Command{Use: program, Short: summary, Long: description}
		root.AddCommand(ours...)
		return silent(root)
	}
	root := newKubectl(streams, args)
	if replaced, _, err := root.Find([]string{"version"}); err == nil {
		root.RemoveCommand(replaced)
	}
	root.AddCommand(ours...)
	return silent(root)
}

// silent leaves it to Main to say what went wrong.
func silent(root *cobra.Command) *cobra.Command {
	root.SilenceUsage, root.SilenceErrors = true, true
	return root
}
