package cluster

import (
	"context"
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
	running, other := map[string]bool{}, map[string]bool{}
	// The watch begins with the pods that exist, and says with a bookmark that it has sent them all.
	const begin = "?sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
	complete := false
	return watch(ctx, c.client, path("v1/pods")+begin, func(e event) (bool, error) {
		name := e.Object.Metadata.Name
		complete = complete || e.Type == "BOOKMARK"
		switch {
		case e.Type == "BOOKMARK":
		case e.Type == "ERROR":
			return false, fmt.Errorf("the watch of pods has ended at %d running pods", len(running))
		case e.Type == "DELETED":
			delete(running, name)
			delete(other, name)
		case e.Object.runs():
			running[name] = true
			delete(other, name)
		default:
			other[name] = true
			delete(running, name)
		}
		return complete && len(running) == want && len(other) == 0, nil
	})
}
