package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"holdfast.dev/holdfast/bench/conformance"
	"holdfast.dev/holdfast/bench/side"
)

// advertised sets the address in the Service kubernetes. Neither server publishes a loopback address there. No client uses it.
const advertised = "--advertise-address=192.0.2.1"

// conformanceRun are the flags of "bench conformance".
type conformanceRun struct {
	chosen             sides
	settings           conformance.Settings
	focus              *regexp.Regexp
	on, nodes          string
	keep, results, out string
}

// runConformance is the command "bench conformance". It runs the conformance tests of Kubernetes on both servers, and writes a page
// when all tests have run.
func runConformance(ctx context.Context, args []string) error {
	var r conformanceRun
	flags := flag.NewFlagSet("bench conformance", flag.ContinueOnError)
	r.chosen.register(flags)
	focus := flags.String("focus", "", "regular expression for the names of the tests to run; the page keeps the results of the others")
	flags.StringVar(&r.on, "on", "", "run on one side only: Holdfast or kube-apiserver")
	flags.StringVar(&r.nodes, "nodes", "", "run all chosen tests on one kind of nodes, also those that need containers: hollow or simulated")
	flags.StringVar(&r.keep, "dir", "", "directory for data, logs and reports, which stay; empty for a temporary one")
	flags.StringVar(&r.results, "results", "../bin/conformance.json", "file with the results of all runs")
	flags.StringVar(&r.out, "out", "", "file for the page; empty writes none")
	flags.IntVar(&r.settings.Nodes, "size", 4, "number of nodes")
	flags.IntVar(&r.settings.Parallel, "parallel", 6, "number of tests that run at the same time")
	flags.DurationVar(&r.settings.Limit, "limit", 15*time.Minute, "time limit of a test")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if r.focus, err = regexp.Compile(*focus); err != nil {
		return fmt.Errorf("-focus: %w", err)
	}
	if r.chosen.peer == "" {
		return errors.New("-peer: required")
	}
	if r.chosen.peer, err = filepath.Abs(r.chosen.peer); err != nil {
		return err
	}
	return r.run(ctx)
}

// run runs the chosen tests and writes the page.
func (r *conformanceRun) run(ctx context.Context) error {
	r.settings.Binaries, r.settings.Dir = r.chosen.peer, r.keep
	if r.keep == "" {
		dir, err := os.MkdirTemp("", "bench-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		r.settings.Dir = dir
	}
	results, err := conformance.ReadResults(r.results)
	if err != nil {
		return err
	}
	page := conformance.Page{
		Containers: conformance.Containers(), Simulated: conformance.Simulated(), Results: results,
		Here: "Holdfast", There: "kube-apiserver",
	}
	program := filepath.Join(r.chosen.peer, "e2e.test")
	if page.Version, err = conformance.Version(ctx, program); err != nil {
		return err
	}
	if page.Names, err = conformance.Names(ctx, program); err != nil {
		return err
	}
	if unknown := page.Unknown(); len(unknown) > 0 {
		return fmt.Errorf("containers.txt or simulated.txt has %q, which is no conformance test", unknown[0])
	}
	for _, s := range []side.Side{
		side.Peer(r.chosen.peer, "--allow-privileged", advertised), side.Holdfast(r.chosen.holdfast, besideControllerManager, advertised),
	} {
		if r.on != "" && r.on != s.Name {
			continue
		}
		if err := r.runSide(ctx, s, &page); err != nil {
			return err
		}
	}
	return r.finish(&page)
}

// runSide runs the chosen tests on a side.
func (r *conformanceRun) runSide(ctx context.Context, s side.Side, page *conformance.Page) error {
	var hollow, simulated []string
	for _, name := range page.Names {
		switch {
		case !r.focus.MatchString(name) || r.nodes == "" && page.Containers[name] != "":
		case r.nodes == "simulated" || r.nodes == "" && page.Simulated[name]:
			simulated = append(simulated, name)
		default:
			hollow = append(hollow, name)
		}
	}
	left := len(hollow) + len(simulated)
	r.settings.Done = func(name string, result conformance.Result) {
		left--
		fmt.Printf("%s %s (%.0fs, %d left): %s\n", s.Name, result.Verdict, result.Seconds, left, name)
		page.Results.Set(name, s.Name, result)
		if err := page.Results.Write(r.results); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return errors.Join(
		conformance.Hollow(ctx, s, hollow, r.settings), conformance.OnSimulated(ctx, s, simulated, r.settings))
}

// finish prints the counts and writes the page.
func (r *conformanceRun) finish(page *conformance.Page) error {
	fmt.Print(page.Counts())
	if missing := page.Missing(); len(missing) > 0 {
		return fmt.Errorf("%d tests have not run on both servers, such as %s", len(missing), missing[0])
	}
	if r.out != "" {
		if err := os.WriteFile(r.out, []byte(page.Markdown()), 0o644); err != nil {
			return err
		}
	}
	if defects := page.Defects(); len(defects) > 0 {
		return fmt.Errorf("%d tests pass on %s and not on %s", len(defects), page.There, page.Here)
	}
	return nil
}
