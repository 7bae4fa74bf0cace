package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"holdfast.dev/holdfast/bench/kubectl"
	"holdfast.dev/holdfast/bench/side"
)

// runKubectl is the command "bench kubectl". It runs the same commands on our server and on kube-apiserver, and compares
// their outputs and exit codes.
func runKubectl(ctx context.Context, args []string) error {
	var chosen sides
	flags := flag.NewFlagSet("bench kubectl", flag.ContinueOnError)
	chosen.register(flags)
	script := flags.String("script", "commands", "the commands: commands, or series for those of holdfast series")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if chosen.peer == "" {
		return errors.New("-peer: required")
	}
	commands, err := kubectl.Commands(*script)
	if err != nil {
		return err
	}
	binary, err := filepath.Abs(chosen.holdfast)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ports, err := side.FreePorts(2)
	if err != nil {
		return err
	}
	servers := []kubectl.Server{{Name: "ours", Port: ports[0], Holdfast: binary}, {Name: "peer", Port: ports[1], Holdfast: binary}}
	for i, start := range []side.Side{side.Holdfast(chosen.holdfast), side.Peer(chosen.peer)} {
		server, err := start.Start(dir)
		if err != nil {
			return err
		}
		defer server.Stop()
		servers[i].Kubeconfig = filepath.Join(dir, servers[i].Name+".kubeconfig")
		if err := server.WriteKubeconfig(servers[i].Kubeconfig, side.Administrator()); err != nil {
			return err
		}
	}
	runner, err := kubectl.NewRunner(dir, servers[0], servers[1])
	if err != nil {
		return err
	}
	return compareCommands(ctx, runner, commands)
}

// compareCommands runs all commands and prints those with an exception or a problem.
func compareCommands(ctx context.Context, runner *kubectl.Runner, commands []kubectl.Command) error {
	problems, exceptions := 0, 0
	for _, command := range commands {
		outcome := runner.Compare(ctx, command)
		switch {
		case outcome.Problem != "":
			problems++
			fmt.Printf("$ %s\n%s\nour server:\n%s\nkube-apiserver:\n%s\n\n", command.Text, outcome.Problem, outcome.Ours, outcome.Peer)
		case command.Differs != "":
			exceptions++
			fmt.Printf("$ %s\n  differs: %s\n", command.Text, command.Differs)
		}
	}
	fmt.Printf("%d commands, %d with an exception\n", len(commands), exceptions)
	if problems > 0 {
		return fmt.Errorf("%d commands have other outcomes than expected", problems)
	}
	return nil
}
