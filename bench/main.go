package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"holdfast.dev/holdfast/bench/side"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run runs the command that the first argument names.
func run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, []string) error{
		"attack": runAttack, "cluster": runCluster, "compare": runCompare, "conformance": runConformance,
		"guard": runGuard, "kubectl": runKubectl, "kudo": runKudo, "replacement": runReplacement, "scale": runScale,
		"scale-run": runScaleRun,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		return errors.New("usage: bench attack|cluster|compare|conformance|guard|kubectl|kudo|replacement|scale|scale-run [flags]; bench compare -help lists the flags")
	}
	return commands[args[0]](ctx, args[1:])
}

// sides are the flags that choose the servers.
type sides struct{ holdfast, peer string }

func (s *sides) register(flags *flag.FlagSet) {
	flags.StringVar(&s.holdfast, "holdfast", "../bin/holdfast", "the holdfast binary")
	flags.StringVar(&s.peer, "peer", "", "directory with kube-apiserver and etcd; empty runs on Holdfast alone")
}

func (s *sides) list() []side.Side {
	// kube-apiserver serves profiles too. Before their memory is read, the servers collect garbage with it.
	all := []side.Side{side.Holdfast(s.holdfast, "--profiling")}
	if s.peer != "" {
		all = append(all, side.Peer(s.peer))
	}
	return all
}

// numbers reads numbers with commas between them.
func numbers(text string) ([]int, error) {
	var all []int
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}
