package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// modelWorkload is a workload of the model. It refers to one series of ConfigMaps and one of Secrets.
type modelWorkload struct {
	kind, name, manifest string
	// scales says that it has replicas, and undoes that its rollout can be undone.
	scales, undoes bool
}

// boats is the collection of a custom resource whose definition declares its references.
const boats = "example.com/v1/boats"

// modelWorkloads returns the workloads of the model. The CronJob makes a Job each minute, whose pod ends.
func modelWorkloads() []modelWorkload {
	const task = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "* * * * *"
  successfulJobsHistoryLimit: 1
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          nodeSelector: {simulated: "true"}
          tolerations: [{key: simulated, operator: Exists}]
          containers: [{name: main, image: "example.com/task:1"}]
`
	volumes := "\nvolumes:\n- {name: conf, configMap: {name: conf, optional: true}}\n- {name: key, secret: {secretName: key, optional: true}}\n"
	of := func(kind, name, fields string) string {
		tolerated := "tolerations:\n      - {key: " + simulatedKey + ", operator: Exists}"
		return strings.Replace(workload(kind, name, fields), "tolerations:", tolerated, 1) + indent(volumes, "      ")
	}
	return []modelWorkload{
		{"Deployment", "web", of("Deployment", "web", "  replicas: 3\n  revisionHistoryLimit: 2"), true, true},
		{"Deployment", "shop", of("Deployment", "shop", "  replicas: 2\n  revisionHistoryLimit: 0"), true, true},
		{"StatefulSet", "db", of("StatefulSet", "db", "  replicas: 2\n  serviceName: db\n  revisionHistoryLimit: 1"), true, true},
		{"DaemonSet", "probe", of("DaemonSet", "probe", "  revisionHistoryLimit: 1"), false, true},
		{"CronJob", "tick", task + indent(volumes, "          "), false, false},
		{"Boat", "one", "apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: one}\nspec: {conf: conf, keys: [{name: key}]}\n", false, false},
	}
}

// defineBoats creates the definition of the custom resource, and waits until it is served.
func (c *Cluster) defineBoats(ctx context.Context) error {
	err := c.create(ctx, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.example.com
  annotations:
    holdfast.dev/references: |
      ConfigMap spec.conf
      Secret spec.keys[*].name
spec:
  group: example.com
  names: {kind: Boat, plural: boats, singular: boat}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              conf: {type: string}
              keys: {type: array, items: {type: object, properties: {name: {type: string}}}}
`)
	if err != nil {
		return err
	}
	_, err = c.until(ctx, func(ctx context.Context) (string, error) {
		_, _, err := c.read(ctx, path(boats))
		return "", err
	})
	return err
}

// modelAgent is the node of the node agent of Holdfast. A simulated node writes the status of its pods.
const modelAgent = "simulated-0"

// modelSeries are the series, as the commands name them.
var modelSeries = []string{"conf", "secret/key"}

// model rolls configuration over at random.
type model struct {
	*Cluster
	rng  *rand.Rand
	next int
	// done counts the actions by their names.
	done map[string]int
}

// Model rolls the configuration of workloads over at random, rolls it back, scales to zero, deletes and creates workloads, loses nodes, and kills the
// server, the kubelets, the agent and kube-controller-manager. It checks each deletion of a ConfigMap or a Secret: no stored object of that revision
// has the name. In the end everything must go that no object refers to. Before that, it makes sure that the check can fail. It writes what it did, and
// returns an error if a check failed.
func Model(ctx context.Context, server *side.Server, settings Settings, out io.Writer) error {
	c, err := Start(ctx, server, settings)
	if err != nil {
		return err
	}
	defer c.Stop()
	if err := c.tryOracle(ctx); err != nil {
		return err
	}
	m := &model{Cluster: c, rng: rand.New(rand.NewPCG(settings.Seed, 0)), done: map[string]int{}}
	if err := m.prepare(ctx); err != nil {
		return err
	}
	watched := c.observe(ctx)
	for end := time.Now().Add(settings.Model); time.Now().Before(end); {
		if err := m.act(ctx); err != nil {
			return fmt.Errorf("seed %d: %w", settings.Seed, err)
		}
	}
	left, err := m.settle(ctx)
	deleted, wrong := watched.stop()
	_, _ = fmt.Fprintf(out, "seed %d: %v; %d objects deleted, %d of them in use; %s\n", settings.Seed, m.done, deleted, len(wrong), left)
	for _, message := range wrong {
		err = errors.Join(err, errors.New(message))
	}
	return err
}

// prepare creates the first member of each series, and the workloads. It starts the agent.
func (m *model) prepare(ctx context.Context) error {
	settings := `{"metadata":{"labels":{"holdfast.dev/collect":"unused"},` +
		`"annotations":{"holdfast.dev/collect-after":"1m","holdfast.dev/keep-last":"1"}}}`
	if err := m.merge(ctx, "/api/v1/namespaces/"+namespace, settings); err != nil {
		return err
	}
	first := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: key}\n"
	if err := m.create(ctx, first); err != nil {
		return err
	}
	for _, w := range modelWorkloads() {
		if err := m.create(ctx, w.manifest); err != nil {
			return err
		}
	}
	var err error
	m.components["agent"], err = m.server.StartProgram(side.Program{
		Name: "agent", Path: m.settings.Holdfast, User: nodeUser(modelAgent),
		Args: func(dir, kubeconfig string) []string {
			return []string{"node", "--name", modelAgent, "--kubeconfig", kubeconfig, "--root", filepath.Join(dir, "root")}
		},
	})
	return err
}

// act does one random thing.
func (m *model) act(ctx context.Context) error {
	workloads := modelWorkloads()
	w := workloads[m.rng.IntN(len(workloads))]
	of := modelSeries[m.rng.IntN(len(modelSeries))]
	object := strings.ToLower(w.kind) + "/" + w.name
	actions := []struct {
		name   string
		weight int
		run    func() error
	}{
		{"rolls", 8, func() error {
			m.next++
			return m.command(ctx, "", "series", "roll", of, fmt.Sprintf("--from-literal=version=%d", m.next), "--in", object)
		}},
		{"rolls of all", 3, func() error {
			m.next++
			return m.command(ctx, "", "series", "roll", of, fmt.Sprintf("--from-literal=version=%d", m.next), "--all")
		}},
		{"rollbacks", 3, func() error {
			return m.unless(m.command(ctx, "", "series", "rollback", of, "--in", object), "there is none to go back to")
		}},
		{"undone rollouts", 3, func() error {
			if !w.undoes {
				return nil
			}
			return m.unless(m.command(ctx, "", "rollout", "undo", object), "no rollout history", "no last revision", "unable to find")
		}},
		{"scalings", 3, func() error {
			if !w.scales {
				return nil
			}
			return m.command(ctx, "", "scale", object, fmt.Sprintf("--replicas=%d", m.rng.IntN(3)))
		}},
		{"deletions", 1, func() error {
			if err := m.command(ctx, "", "delete", object, "--cascade=foreground", "--timeout=90s"); err != nil {
				return err
			}
			return m.create(ctx, w.manifest)
		}},
		{"lost nodes", 1, func() error { return m.lose(ctx) }},
		{"kills of the server", 1, m.server.KillAndStart},
		{"kills of the agent", 1, m.components["agent"].KillAndStart},
		{"kills of kube-controller-manager", 1, m.components["kube-controller-manager"].KillAndStart},
		{"pauses", 4, func() error { return m.pause(ctx, time.Duration(m.rng.IntN(15))*time.Second) }},
	}
	sum := 0
	for _, a := range actions {
		sum += a.weight
	}
	chosen := m.rng.IntN(sum)
	for _, a := range actions {
		if chosen -= a.weight; chosen < 0 {
			m.done[a.name]++
			if err := a.run(); err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			break
		}
	}
	return m.pause(ctx, time.Second)
}

// unless returns an error, or nil if it has one of the texts: there is nothing to go back to.
func (m *model) unless(err error, texts ...string) error {
	for _, text := range texts {
		if err != nil && strings.Contains(err.Error(), text) {
			return nil
		}
	}
	return err
}

// lose kills a kubelet, lets the node be lost, and starts the kubelet again.
func (m *model) lose(ctx context.Context) error {
	kubelet := m.components[fmt.Sprintf("hollow-%d", m.rng.IntN(m.settings.Kubelets))]
	kubelet.Kill()
	if err := m.pause(ctx, 30*time.Second); err != nil {
		return err
	}
	return kubelet.KillAndStart()
}

func (m *model) pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settleTimeout is longer than the server waits before it marks an object, and then before it deletes it. A kill starts the time anew.
const settleTimeout = 6 * time.Minute

// settle waits until the only objects of a series are those that an object refers to, and the newest. It returns what is left.
func (m *model) settle(ctx context.Context) (string, error) {
	for end := time.Now().Add(settleTimeout); ; {
		left, err := m.unused(ctx)
		switch {
		case err != nil:
			return "", err
		case len(left) == 0:
			return "no unused object is left", nil
		case time.Now().After(end):
			return "", fmt.Errorf("after %s no object refers to %s, and they are still there", settleTimeout, strings.Join(left, ", "))
		}
		if err := m.pause(ctx, time.Second); err != nil {
			return "", err
		}
	}
}
