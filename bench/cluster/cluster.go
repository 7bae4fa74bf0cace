package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// Settings are the programs and their number.
type Settings struct {
	// Binaries is the directory with kube-controller-manager, kube-scheduler and kubemark. If it is empty, no program is started.
	Binaries string
	// Holdfast is the binary. The steps use its commands of kubectl and of operator packages.
	Holdfast string
	// Kubelets is the number of hollow kubelets.
	Kubelets int
	// Simulated is the number of simulated nodes.
	Simulated int
	// Taint keeps pods from the simulated nodes that do not tolerate the taint "simulated".
	Taint bool
	// Packages is the directory with the versions of the operator package.
	Packages string

	// Pods is the number of pods of Load, in Deployments of at most PodsPerDeployment.
	Pods, PodsPerDeployment int
	// Steady is the time for which Load measures the server when all pods run.
	Steady time.Duration

	// Model is the time for which Model changes workloads at random, and Seed is the number that the actions follow from.
	Model time.Duration
	Seed  uint64
}

// Cluster is a server with its components and nodes. The caller must call Stop.
type Cluster struct {
	settings   Settings
	server     *side.Server
	client     *side.Client
	kubeconfig string
	components map[string]*side.Component
	simulation *simulation
}

// Start starts the components and the nodes, and waits until all nodes are ready.
func Start(ctx context.Context, server *side.Server, settings Settings) (*Cluster, error) {
	c := &Cluster{settings: settings, server: server, components: map[string]*side.Component{}}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if c.client, err = c.server.Client(side.Administrator()); err != nil {
		return err
	}
	c.kubeconfig = filepath.Join(c.server.Dir(), "admin.kubeconfig")
	if err := c.server.WriteKubeconfig(c.kubeconfig, side.Administrator()); err != nil {
		return err
	}
	if c.settings.Binaries != "" {
		for _, p := range c.programs() {
			if c.components[p.Name], err = c.server.StartProgram(p); err != nil {
				return err
			}
		}
	}
	if c.simulation, err = simulate(ctx, c.server, c.settings); err != nil {
		return err
	}
	_, err = c.until(ctx, c.nodesReady)
	return err
}

// nodesReady is a check that all nodes are ready, and that kube-controller-manager has removed the taints of new nodes.
func (c *Cluster) nodesReady(ctx context.Context) (string, error) {
	nodes, err := c.list(ctx, "/api/v1/nodes")
	if err != nil {
		return "", err
	}
	ready := 0
	for _, node := range nodes {
		if node.is("Ready") && (c.settings.Binaries == "" || len(node.Spec.Taints) == node.tolerable()) {
			ready++
		}
	}
	return expect(ready == c.settings.Kubelets+c.settings.Simulated, "%d of %d nodes are Ready", ready, c.settings.Kubelets+c.settings.Simulated)
}

// Stop ends the nodes and the components, and waits for their end.
func (c *Cluster) Stop() {
	if c.simulation != nil {
		c.simulation.stop()
	}
	for _, component := range c.components {
		if component != nil {
			component.Stop()
		}
	}
	if c.client != nil {
		c.client.Close()
	}
}

// running returns an error if a component has ended.
func (c *Cluster) running() error {
	var all []error
	for _, component := range c.components {
		all = append(all, component.Running())
	}
	return errors.Join(all...)
}

// timeout is the time in which a check must succeed.
const timeout = 2 * time.Minute

// pending is the error of a check that has not succeeded yet.
type pending string

// Error implements error.
func (p pending) Error() string { return "only " + string(p) }

// expect returns the text, and an error as long as the condition is false.
func expect(condition bool, format string, args ...any) (string, error) {
	text := fmt.Sprintf(format, args...)
	if !condition {
		return "", pending(text)
	}
	return text, nil
}

// until calls check until it succeeds, and returns what check returned then.
func (c *Cluster) until(ctx context.Context, check func(context.Context) (string, error)) (string, error) {
	for end := time.Now().Add(timeout); ; time.Sleep(100 * time.Millisecond) {
		seen, err := check(ctx)
		var refused *side.StatusError
		switch {
		case err == nil:
			return seen, nil
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.As(err, &refused) && refused.Code != http.StatusNotFound:
			return "", err
		case time.Now().After(end):
			return "", fmt.Errorf("after %s: %w", timeout, errors.Join(err, c.running()))
		}
	}
}

// programs returns the components, and the hollow kubelets.
func (c *Cluster) programs() []side.Program {
	all := []side.Program{
		c.controlProgram("kube-controller-manager", "--use-service-account-credentials",
			"--node-monitor-period=1s", "--node-monitor-grace-period=20s", "--node-eviction-rate=10"),
		c.controlProgram("kube-scheduler"),
	}
	for i := range c.settings.Kubelets {
		all = append(all, c.kubelet(fmt.Sprintf("hollow-%d", i)))
	}
	return all
}

// atRate adds flags that raise the limits which the clients set themselves. With their defaults, the clients would be measured instead
// of the server.
func atRate(args []string) []string {
	return append(args, "--kube-api-qps=300", "--kube-api-burst=600")
}

// controlProgram returns a component of the control plane, with the identity that it has in every cluster.
func (c *Cluster) controlProgram(name string, flags ...string) side.Program {
	return side.Program{
		Name: name, Path: filepath.Join(c.settings.Binaries, name), User: side.User{Name: "system:" + name},
		Args: func(dir, kubeconfig string) []string {
			return atRate(append([]string{
				"--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
				"--cert-dir", dir, "--bind-address", "127.0.0.1", "--secure-port", c.port(),
			}, flags...))
		},
	}
}

// kubelet returns a hollow kubelet, with the credential of its node.
func (c *Cluster) kubelet(name string) side.Program {
	return side.Program{
		Name: name, Path: filepath.Join(c.settings.Binaries, "kubemark"), User: nodeUser(name),
		Args: func(_, kubeconfig string) []string {
			return atRate([]string{
				"--morph", "kubelet", "--name", name, "--kubeconfig", kubeconfig, "--kubelet-port", c.port(),
				"--kubelet-read-only-port", c.port(), "--use-host-image-service=false",
			})
		},
	}
}

func nodeUser(name string) side.User {
	return side.User{Name: "system:node:" + name, Groups: []string{"system:nodes"}}
}

// port returns a free port. Without one, the program that gets it ends with an error in its log.
func (c *Cluster) port() string {
	ports, err := side.FreePorts(1)
	if err != nil {
		return "0"
	}
	return ports[0]
}
