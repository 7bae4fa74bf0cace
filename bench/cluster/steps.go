package cluster

import (
	"context"
	"fmt"
	"io"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// step is one thing that must work. It returns what was seen.
type step struct {
	name string
	run  func(*Cluster, context.Context) (string, error)
}

// steps returns the steps in their order. Later steps use the objects of earlier ones.
func steps() []step {
	return []step{
		{"Deployment rolled out", (*Cluster).rollOut},
		{"Deployment scaled", (*Cluster).scale},
		{"Deployment rolled back", (*Cluster).rollBack},
		{"Service with EndpointSlices", (*Cluster).service},
		{"StatefulSet in order", (*Cluster).statefulSet},
		{"DaemonSet", (*Cluster).daemonSet},
		{"Job", (*Cluster).job},
		{"CronJob", (*Cluster).cronJob},
		{"series rolled over", (*Cluster).series},
		{"eviction and PodDisruptionBudget", (*Cluster).evict},
		{"quota", (*Cluster).quota},
		{"namespace deleted", (*Cluster).deleteNamespace},
		{"operator package", (*Cluster).operator},
		{"node lost", (*Cluster).loseNode},
		{"dependents collected", (*Cluster).collect},
	}
}

// Steps starts the components on a server, runs all steps, and writes a line for each. The error says how many steps failed.
func Steps(ctx context.Context, server *side.Server, settings Settings, out io.Writer) error {
	failed := 0
	report := func(name string, started time.Time, seen string, err error) {
		result := "ok  "
		if err != nil {
			result, seen = "FAIL", err.Error()
			failed++
		}
		_, _ = fmt.Fprintf(out, "%s %6.1fs  %s: %s\n", result, time.Since(started).Seconds(), name, seen)
	}
	started := time.Now()
	c, err := Start(ctx, server, settings)
	report("components", started, fmt.Sprintf("%d hollow kubelets and %d simulated nodes are Ready", settings.Kubelets, settings.Simulated), err)
	if err != nil {
		return err
	}
	defer c.Stop()
	all := steps()
	for _, s := range all {
		started := time.Now()
		seen, err := s.run(c, ctx)
		report(s.name, started, seen, err)
	}
	if err := c.running(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d steps failed", failed, len(all))
	}
	return nil
}
