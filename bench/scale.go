package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"

	"holdfast.dev/holdfast/bench/compare"
	"holdfast.dev/holdfast/bench/scale"
	"holdfast.dev/holdfast/bench/scalerun"
)

// runScale is the command "bench scale". It writes a page with plots from the figures of "bench compare".
func runScale(_ context.Context, args []string) error {
	flags := flag.NewFlagSet("bench scale", flag.ContinueOnError)
	figures := flags.String("figures", "../docs/benchmarks/figures.json", "file with the figures of bench compare")
	docs := flags.String("docs", "../docs", "directory with cluster.md and costs.md, whose measurements check the model")
	run := flags.String("run", "../docs/scale/run.json", "file with the figures of bench scale-run; without the file, the page has no measurement")
	out := flags.String("out", "../docs/scale.md", "file for the page; its plots are written to a directory of the same name")
	if err := flags.Parse(args); err != nil {
		return err
	}
	read, err := compare.Read(*figures)
	if err != nil {
		return err
	}
	costs, err := scale.ReadCosts(read)
	if err != nil {
		return err
	}
	checks, err := readChecks(costs, *docs)
	if err != nil {
		return err
	}
	measured, err := scalerun.Read(*run)
	if err != nil {
		return err
	}
	return writeScale(costs, checks, measured, *out)
}

// readChecks compares the model with the measurements of other pages.
func readChecks(costs scale.Costs, docs string) ([]scale.Check, error) {
	cluster, err := os.ReadFile(filepath.Join(docs, "cluster.md"))
	if err != nil {
		return nil, err
	}
	hollow, err := os.ReadFile(filepath.Join(docs, "costs.md"))
	if err != nil {
		return nil, err
	}
	ofCluster, err := costs.ClusterChecks(string(cluster))
	ofHollow, hollowErr := costs.HollowChecks(string(hollow))
	return append(ofCluster, ofHollow...), errors.Join(err, hollowErr)
}

// writeScale writes the page and its plots.
func writeScale(costs scale.Costs, checks []scale.Check, run *scalerun.Result, out string) error {
	folder := folderOf(out)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	machine := scale.Machines()[1]
	for name, profile := range map[string]scale.Profile{"agents.svg": scale.Agents(), "kubelets.svg": scale.Kubelets()} {
		plot := costs.Plot(profile, scale.OneServer(), machine)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(plot), 0o644); err != nil {
			return err
		}
	}
	base := filepath.Base(folder)
	page := costs.Markdown(checks, run, scale.Plots{Agents: base + "/agents.svg", Kubelets: base + "/kubelets.svg"})
	return os.WriteFile(out, []byte(page), 0o644)
}
