package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"holdfast.dev/holdfast/bench/side"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run runs the command that the first argument names.
func run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, []string) error{"attack": runAttack}
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("usage: bench attack [flags]; bench attack -help lists the flags")
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
	all := []side.Side{side.Holdfast(s.holdfast)}
	if s.peer != "" {
		all = append(all, side.Peer(s.peer))
	}
	return all
}
