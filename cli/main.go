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
	"syscall"

	"github.com/spf13/cobra"
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
	err := Run(ctx, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args[1:])
	if err == nil || errors.Is(err, context.Canceled) {
		return 0
	}
	fmt.Fprintf(os.Stderr, "holdfast: %v\n", err)
	return 1
}

// Run runs one command line. An error is one line for a person.
func Run(ctx context.Context, streams Streams, args []string) error {
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "A Kubernetes-compatible control plane in which what must not change, cannot",
		Long: `Holdfast serves the Kubernetes API from one binary, with etcd inside it. Stock
kubectl, client-go, controller-runtime and Helm are its clients.

Start it with "holdfast serve"; it prints where the kubeconfig is.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newServeCommand(), newNodeCommand(), newKubeconfigCommand(), newVersionCommand())
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}
