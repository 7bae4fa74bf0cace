package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// Usage is what a server used in one phase of Load.
type Usage struct {
	Phase string
	// Time is how long the phase took, and CPU the CPU time of the server in it.
	Time, CPU time.Duration
	// Memory is the resident memory at the end of the phase, and Peak the highest in it, in bytes.
	Memory, Peak int64
}

// Load starts the components and nodes on a server, creates pods and deletes them, and measures the server in each phase.
func Load(ctx context.Context, server *side.Server, settings Settings) ([]Usage, error) {
	m := &meter{server: server}
	var c *Cluster
	defer func() {
		if c != nil {
			c.Stop()
		}
	}()
	deployments := (settings.Pods + settings.PodsPerDeployment - 1) / settings.PodsPerDeployment
	phases := []struct {
		name string
		run  func() error
	}{
		{fmt.Sprintf("%d nodes become ready", settings.Kubelets+settings.Simulated), func() (err error) {
			c, err = Start(ctx, server, settings)
			return err
		}},
		{fmt.Sprintf("%d pods run", settings.Pods), func() error {
			return c.loadPods(ctx, deployments)
		}},
		{fmt.Sprintf("nothing changes for %s", settings.Steady), func() error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(settings.Steady):
				return c.running()
			}
		}},
		{fmt.Sprintf("%d pods are deleted", settings.Pods), func() error {
			return c.unloadPods(ctx, deployments)
		}},
	}
	for _, phase := range phases {
		if err := m.measure(phase.name, phase.run); err != nil {
			return nil, fmt.Errorf("%s: %w", phase.name, err)
		}
	}
	return m.all, nil
}

// loadPods creates the pods and waits until they run. Without components, it creates the pods itself, on the simulated nodes.
func (c *Cluster) loadPods(ctx context.Context, deployments int) error {
	var manifest strings.Builder
	left := c.settings.Pods
	for i := range deployments {
		count := min(left, c.settings.PodsPerDeployment)
		left -= count
		manifest.WriteString("\n---\n" + c.loadWorkload(i, count))
	}
	if err := c.create(ctx, manifest.String()); err != nil {
		return err
	}
	return c.untilRunning(ctx, c.settings.Pods)
}

// loadWorkload returns a Deployment, or pods that need no components.
func (c *Cluster) loadWorkload(number, count int) string {
	if c.settings.Binaries != "" {
		return workload("Deployment", fmt.Sprintf("load-%d", number), fmt.Sprintf("  replicas: %d", count))
	}
	var pods strings.Builder
	for i := range count {
		_, _ = fmt.Fprintf(&pods, "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: load-%d-%d}\n"+
			"spec: {nodeName: simulated-%d, containers: [{name: main, image: \"example.com/web:1\"}]}\n",
			number, i, (number+i)%c.settings.Simulated)
	}
	return pods.String()
}

// unloadPods deletes everything that loadPods has created.
func (c *Cluster) unloadPods(ctx context.Context, deployments int) error {
	args := []string{"delete", "pods", "--all", "--wait=false"}
	if c.settings.Binaries != "" {
		args = []string{"delete", "deployments", "--wait=false"}
		for i := range deployments {
			args = append(args, fmt.Sprintf("load-%d", i))
		}
	}
	if err := c.command(ctx, "", args...); err != nil {
		return err
	}
	return c.untilRunning(ctx, 0)
}

// untilRunning waits until a number of pods exists, and all of them run. It counts with a watch: lists would be measured too.
func (c *Cluster) untilRunning(ctx context.Context, want int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	for {
		counted := podCount{want: want, running: map[string]bool{}}
		err := watch(ctx, c.client, path("v1/pods")+fromBeginning, counted.see)
		// A server ends the watch of a client that cannot keep up.
		if !errors.Is(err, errEnded) {
			return err
		}
	}
}

// fromBeginning makes a watch begin with the objects that exist. A bookmark says that all of them were sent.
const fromBeginning = "?sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"

// podCount counts pods by the events of a watch.
type podCount struct {
	want     int
	complete bool
	// running has an entry for each pod, which says whether the pod runs.
	running map[string]bool
}

// see reports whether the wanted number of pods exists and all of them run.
func (p *podCount) see(e event) (bool, error) {
	switch e.Type {
	case "BOOKMARK":
		p.complete = true
	case "DELETED":
		delete(p.running, e.Object.Metadata.Name)
	default:
		p.running[e.Object.Metadata.Name] = e.Object.runs()
	}
	if !p.complete || len(p.running) != p.want {
		return false, nil
	}
	for _, runs := range p.running {
		if !runs {
			return false, nil
		}
	}
	return true, nil
}
