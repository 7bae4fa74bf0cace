package guard

import (
	"context"
	"fmt"

	"holdfast.dev/holdfast/bench/side"
)

// guards are the replicas of the guard of a cluster.
type guards struct {
	trial    *trial
	cluster  *cluster
	balancer *balancer
	running  []*side.Component
	// started is the number of replicas that were started.
	started int
}

// replicas is the number of replicas.
const replicas = 2

// startGuards installs the guard on a cluster and starts its replicas. The caller must call stop.
func (t *trial) startGuards(ctx context.Context, c *cluster) (*guards, error) {
	balancer, err := newBalancer()
	if err != nil {
		return nil, err
	}
	g := &guards{trial: t, cluster: c, balancer: balancer}
	if err := t.installGuard(ctx, c, balancer.url()); err != nil {
		g.stop()
		return nil, err
	}
	if err := g.start(); err != nil {
		g.stop()
		return nil, err
	}
	return g, nil
}

// installGuard runs "holdfast guard init", and gives the guard the right to read the custom resources. Without a
// kube-controller-manager, no aggregated role gets rules.
func (t *trial) installGuard(ctx context.Context, c *cluster, url string) error {
	if err := t.must(ctx, c, t.Holdfast, "guard", "init", "--webhook-url", url); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"create", "clusterrole", "examples-reader", "--verb=get,list", "--resource=*.example.com,configmaps,pods"},
		{"create", "clusterrolebinding", "examples-reader", "--clusterrole=examples-reader", "--serviceaccount=holdfast-guard:holdfast-guard"},
	} {
		if err := t.must(ctx, c, t.Kubectl, args...); err != nil {
			return err
		}
	}
	return nil
}

// startGuard starts one replica at an address, with a token of its service account.
func (t *trial) startGuard(c *cluster, name, address, url string) (*side.Component, error) {
	return c.server.StartProgram(side.Program{
		Name: name, Path: t.Holdfast, Account: side.ServiceAccount{Namespace: "holdfast-guard", Name: "holdfast-guard"},
		Args: func(_, kubeconfig string) []string {
			return []string{
				"guard", "serve", "--kubeconfig", kubeconfig, "--webhook-address", address, "--webhook-url", url, "--health-address", "",
			}
		},
	})
}

// start starts replicas until all run.
func (g *guards) start() error {
	for len(g.running) < replicas {
		ports, err := side.FreePorts(1)
		if err != nil {
			return err
		}
		address := "127.0.0.1:" + ports[0]
		g.started++
		one, err := g.trial.startGuard(g.cluster, fmt.Sprintf("guard-%d", g.started), address, g.balancer.url())
		if err != nil {
			return err
		}
		g.running = append(g.running, one)
		g.balancer.add(address)
	}
	return nil
}

// kill ends the first n replicas without warning.
func (g *guards) kill(n int) {
	for _, one := range g.running[:n] {
		one.Kill()
	}
	g.running = g.running[n:]
}

// log returns the end of the log of the first replica.
func (g *guards) log() string {
	if len(g.running) == 0 {
		return "none"
	}
	return g.running[0].Log()
}

func (g *guards) stop() {
	for _, one := range g.running {
		one.Stop()
	}
	_ = g.balancer.listener.Close()
}
