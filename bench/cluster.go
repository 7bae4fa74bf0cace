package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"holdfast.dev/holdfast/bench/cluster"
	"holdfast.dev/holdfast/bench/side"
)

// besideControllerManager is the flag with which the server leaves the work of controllers to kube-controller-manager, but for the
// signer, which has the key of the authority, and for the controller that deletes unused configuration, which Kubernetes does not have.
const besideControllerManager = "--controllers=certificatesigningrequest-signing-controller,unused-configuration-controller"

// runCluster is the command "bench cluster". It prints a line for each step, or with -pods a table of what the servers use.
func runCluster(ctx context.Context, args []string) error {
	settings := cluster.Settings{Kubelets: 3, Simulated: 1, Taint: true, PodsPerDeployment: 100}
	flags := flag.NewFlagSet("bench cluster", flag.ContinueOnError)
	flags.StringVar(&settings.Holdfast, "holdfast", "../bin/holdfast", "the holdfast binary")
	flags.StringVar(&settings.Binaries, "peer", "../bin/peer", "directory with kube-controller-manager, kube-scheduler and kubemark; "+
		"with -pods also kube-apiserver and etcd")
	flags.StringVar(&settings.Packages, "packages", "../examples/operators/zookeeper", "directory with version 0.1.0 of the package")
	keep := flags.String("dir", "", "directory for data and logs, which stay; empty for a temporary one")
	flags.IntVar(&settings.Pods, "pods", 0, "measure Holdfast and kube-apiserver with this number of pods, instead of the steps")
	nodes := flags.Int("nodes", 100, "with -pods: number of nodes, of which three have a hollow kubelet")
	flags.DurationVar(&settings.Steady, "steady", 2*time.Minute, "with -pods: time of the measurement while all pods run")
	flags.DurationVar(&settings.Model, "model", 0, "roll configuration over at random for this time, with kills, instead of the steps")
	flags.Uint64Var(&settings.Seed, "seed", uint64(time.Now().UnixNano()), "with -model: number that the actions follow from")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir := *keep
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "bench-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	holdfast := side.Holdfast(settings.Holdfast, besideControllerManager)
	if settings.Pods > 0 {
		settings.Simulated, settings.Taint = max(0, *nodes-settings.Kubelets), false
		return runLoad(ctx, []side.Side{holdfast, side.Peer(settings.Binaries)}, dir, settings)
	}
	server, err := holdfast.Start(dir)
	if err != nil {
		return err
	}
	defer server.Stop()
	if settings.Model > 0 {
		return cluster.Model(ctx, server, settings, os.Stdout)
	}
	return cluster.Steps(ctx, server, settings, os.Stdout)
}

// runLoad measures the sides one after the other, and prints a table.
func runLoad(ctx context.Context, sides []side.Side, dir string, settings cluster.Settings) error {
	var names []string
	var usages [][]cluster.Usage
	for _, s := range sides {
		fmt.Fprintf(os.Stderr, "%d pods on %s\n", settings.Pods, s.Name)
		used, err := loadOne(ctx, s, dir, settings)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		names, usages = append(names, s.Name), append(usages, used)
	}
	fmt.Print(cluster.LoadReport(names, usages))
	return nil
}

// loadOne starts a server, measures it and stops it.
func loadOne(ctx context.Context, s side.Side, dir string, settings cluster.Settings) ([]cluster.Usage, error) {
	server, err := s.Start(dir)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	return cluster.Load(ctx, server, settings)
}
