package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"holdfast.dev/holdfast/bench/attack"
	"holdfast.dev/holdfast/bench/side"
)

// runAttack is the command "bench attack". It prints one table for each number of slow bodies.
func runAttack(ctx context.Context, args []string) error {
	var chosen sides
	var settings attack.Settings
	flags := flag.NewFlagSet("bench attack", flag.ContinueOnError)
	chosen.register(flags)
	bodies := flags.String("bodies", "205,800", "numbers of slow bodies that are open at a time")
	flags.DurationVar(&settings.Before, "before", 20*time.Second, "time of the measurement before the attack")
	flags.DurationVar(&settings.During, "during", 75*time.Second, "time of the attack")
	if err := flags.Parse(args); err != nil {
		return err
	}
	counts, err := numbers(*bodies)
	if err != nil {
		return fmt.Errorf("-bodies: %w", err)
	}
	for _, settings.Bodies = range counts {
		var results []*attack.Result
		for _, s := range chosen.list() {
			fmt.Fprintf(os.Stderr, "%d slow bodies to %s\n", settings.Bodies, s.Name)
			result, err := attackOne(ctx, s, settings)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			results = append(results, result)
		}
		fmt.Printf("%d slow bodies:\n\n%s\n", settings.Bodies, attack.Report(results))
	}
	return nil
}

// attackOne starts a server, attacks it and stops it.
func attackOne(ctx context.Context, s side.Side, settings attack.Settings) (*attack.Result, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := s.Start(dir)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	result, err := attack.Measure(ctx, server, settings)
	if err != nil {
		return nil, err
	}
	result.Side = s.Name
	return result, nil
}
