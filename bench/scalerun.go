package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"holdfast.dev/holdfast/bench/scalerun"
	"holdfast.dev/holdfast/bench/side"
)

// runScaleRun is the command "bench scale-run". It runs a large cluster on one server, or on both sides one after the other, and prints
// a report.
func runScaleRun(ctx context.Context, args []string) error {
	var chosen sides
	flags := flag.NewFlagSet("bench scale-run", flag.ContinueOnError)
	chosen.register(flags)
	nodes := flags.Int("nodes", 1000, "number of nodes")
	pods := flags.Int("pods", 100_000, "number of pods; the run creates fewer if the machine has no memory left")
	only := flags.String("side", "both", "the servers: holdfast, peer or both; the peer needs -peer")
	steady := flags.Duration("steady", 30*time.Minute, "how long nothing changes")
	rate := flags.Float64("rate", 100, "highest number of pods that are created in a second")
	spare := flags.Int64("spare", 4096, "memory of the machine in MB that must stay available while pods are created")
	limit := flags.Duration("limit", 90*time.Minute, "longest time of one phase")
	out := flags.String("out", "", "file for the figures, from which \"make pages\" writes docs/scale.md; empty writes none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *nodes < 1 || *pods < 1 || *rate <= 0 {
		return errors.New("-nodes, -pods and -rate must be positive")
	}
	settings := scalerun.Full(*nodes, *pods)
	settings.Steady, settings.Rate, settings.Spare, settings.Limit = *steady, *rate, *spare, *limit
	all, err := chooseSides(chosen, *only)
	if err != nil {
		return err
	}
	memory, err := side.TotalMemory()
	if err != nil {
		return err
	}
	result := &scalerun.Result{
		CPUs: runtime.NumCPU(), Memory: float64(memory >> 20), Settings: settings,
		Command: strings.TrimSpace("make scale-run ARGS='" + given(flags) + "'"),
	}
	for _, s := range all {
		measured, err := scaleRunOne(ctx, s, settings)
		result.Sides = append(result.Sides, measured)
		// The figures of the phases so far count, also if the server needed more memory than the machine has.
		if *out != "" && ctx.Err() == nil {
			err = errors.Join(err, result.Write(*out))
		}
		if err != nil {
			fmt.Print(result.Markdown())
			return err
		}
	}
	fmt.Print(result.Markdown())
	return nil
}

// chooseSides returns the sides that the flag -side names.
func chooseSides(chosen sides, only string) ([]side.Side, error) {
	all := chosen.list()
	switch {
	case !slices.Contains([]string{"holdfast", "peer", "both"}, only):
		return nil, fmt.Errorf("-side: %q is not holdfast, peer or both", only)
	case only == "peer" && len(all) < 2:
		return nil, errors.New("-side peer needs -peer")
	case only == "holdfast":
		return all[:1], nil
	case only == "peer":
		return all[1:], nil
	}
	return all, nil
}

// scaleRunOne runs one side in a temporary directory, which it removes.
func scaleRunOne(ctx context.Context, s side.Side, settings scalerun.Settings) (*scalerun.Side, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return &scalerun.Side{Name: s.Name}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return scalerun.Run(ctx, scalerun.Options{
		Side: s, Dir: dir, Collected: s.Collects,
		Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	}, settings)
}
