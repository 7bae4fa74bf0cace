package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"time"

	"holdfast.dev/holdfast/bench/guard"
)

// runGuard is the command "bench guard". It makes the same writes on our server and on kube-apiserver with the guard, with
// policies and with CEL, and compares what they answer. Then it breaks the guard under load. With -record it writes the reviews of
// a kube-apiserver to a directory instead.
func runGuard(ctx context.Context, args []string) error {
	var chosen sides
	settings := guard.Settings{Out: os.Stdout}
	flags := flag.NewFlagSet("bench guard", flag.ContinueOnError)
	chosen.register(flags)
	flags.StringVar(&settings.Kubectl, "kubectl", "kubectl", "the kubectl binary")
	flags.StringVar(&settings.Examples, "examples", "../examples", "directory with widgets.yaml and widget.yaml")
	flags.Uint64Var(&settings.Seed, "seed", 0, "seed of the random writes; 0 chooses one, which is printed")
	flags.IntVar(&settings.Writes, "writes", 1000, "number of random writes; with few of them, an exception may explain nothing by chance")
	flags.IntVar(&settings.Ruled, "ruled", 5000, "number of random writes and deletions with rules of all kinds")
	record := flags.String("record", "", "write recorded reviews to this directory, which has definition.yaml, instead")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if chosen.peer == "" {
		return errors.New("-peer: required")
	}
	settings.Holdfast, settings.Peer = chosen.holdfast, chosen.peer
	if settings.Seed == 0 {
		settings.Seed = uint64(time.Now().UnixNano())
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if *record != "" {
		return guard.Record(ctx, dir, *record, settings)
	}
	return guard.Run(ctx, dir, settings)
}
