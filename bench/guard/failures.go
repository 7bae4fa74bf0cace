package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// breakGuards breaks the guard in every way while clients write. At no time may a write be accepted that a rule forbids, and after
// each step the guard must answer again.
func (t *trial) breakGuards(ctx context.Context, g *guards) error {
	for _, policy := range []string{systemPolicy, replicasPolicy} {
		if err := t.createPolicy(ctx, g.cluster, policy); err != nil {
			return err
		}
	}
	l, err := startLoad(ctx, g.cluster)
	if err != nil {
		return err
	}
	steps := []struct {
		name string
		run  func() error
	}{
		{"nothing is broken", func() error { return nil }},
		{"one replica is killed", func() error { g.kill(1); return nil }},
		{"it is back, and the other one is killed", func() error { return t.replace(ctx, g, l) }},
		{"both are back", g.start},
		{"the certificate is replaced", func() error { return t.renew(ctx, g, "tls.crt", "tls.key") }},
		{"the authority is replaced", func() error { return t.renew(ctx, g, "tls.crt", "tls.key", "ca.crt", "ca.key") }},
		{"a policy is created", func() error { return t.freeze(ctx, g.cluster, l) }},
		{"all replicas are killed, and are back", func() error { return t.endAll(ctx, g, l) }},
	}
	for _, step := range steps {
		before := l.unavailable.Load()
		began := time.Now()
		err := step.run()
		if err == nil {
			err = l.works(ctx)
		}
		if err != nil {
			l.cancel()
			l.done.Wait()
			return fmt.Errorf("%s: %w", step.name, err)
		}
		t.printf("%s: the guard works after %.1f s, and %d writes failed until then",
			step.name, time.Since(began).Seconds(), l.unavailable.Load()-before)
	}
	if err := l.stop(ctx); err != nil {
		return err
	}
	t.printf("no write was decided wrongly: %s", l)
	return t.ignoreFailures(ctx, g)
}

// replace starts a replica, waits until the guard works, and kills the older one.
func (t *trial) replace(ctx context.Context, g *guards, l *load) error {
	if err := g.start(); err != nil {
		return err
	}
	if err := l.works(ctx); err != nil {
		return err
	}
	g.kill(1)
	return nil
}

// renew removes keys of the Secret and lets "holdfast guard init" make new ones.
func (t *trial) renew(ctx context.Context, g *guards, keys ...string) error {
	data := map[string]string{}
	for _, key := range keys {
		data[key] = ""
	}
	patch, err := json.Marshal(object{"data": data})
	if err != nil {
		return err
	}
	remove := []string{"patch", "secret", "holdfast-guard-webhook", "-n", "holdfast-guard", "--type=merge", "-p", string(patch)}
	if err := t.must(ctx, g.cluster, t.Kubectl, remove...); err != nil {
		return err
	}
	if err := t.must(ctx, g.cluster, t.Holdfast, "guard", "init", "--webhook-url", g.balancer.url()); err != nil {
		return err
	}
	// kube-apiserver checks the certificate of new connections only.
	g.balancer.disconnect()
	return nil
}

const (
	// systemPolicy is about resources that a cluster needs to work.
	systemPolicy = `{"metadata":{"name":"system"},"spec":{"resources":["configmaps","deployments.apps","leases.coordination.k8s.io"],` +
		`"rules":["immutable data","immutable spec.strategy","immutable spec.holderIdentity"]}}`
	// replicasPolicy only warns. Because of it, kube-apiserver asks the guard about the scale too.
	replicasPolicy = `{"metadata":{"name":"replicas"},"spec":{"mode":"warn","resources":["ships.example.com"],` +
		`"rules":["immutable spec.replicas"]}}`
	// colourPolicy forbids what the clients of the load do until then.
	colourPolicy = `{"metadata":{"name":"colours"},"spec":{"resources":["ships.example.com"],"rules":["immutable spec.colour"]}}`
)

// createPolicy creates an ImmutabilityPolicy and waits until its status says what it guards.
func (t *trial) createPolicy(ctx context.Context, c *cluster, text string) error {
	const path = "/apis/guard.holdfast.dev/v1alpha1/immutabilitypolicies"
	var policy object
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		return err
	}
	policy["apiVersion"], policy["kind"] = "guard.holdfast.dev/v1alpha1", "ImmutabilityPolicy"
	body, err := json.Marshal(policy)
	if err != nil {
		return err
	}
	if _, err := c.client.Do(ctx, side.Request{Method: http.MethodPost, Path: path, Body: body}); err != nil {
		return err
	}
	metadata, _ := policy["metadata"].(object)
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		stored, err := read(ctx, c, fmt.Sprint(path, "/", metadata["name"]))
		if err != nil {
			return err
		}
		if status, _ := stored["status"].(object); status["guarded"] != nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("policy %v: the guard does not write its status", metadata["name"])
		}
	}
}

// freeze creates a policy about the ships of the load. From then on, no colour may change.
func (t *trial) freeze(ctx context.Context, c *cluster, l *load) error {
	if err := t.createPolicy(ctx, c, colourPolicy); err != nil {
		return err
	}
	l.frozen.Store(true)
	return nil
}

// endAll kills all replicas. Then no guarded object can be updated, and everything that a cluster needs can.
func (t *trial) endAll(ctx context.Context, g *guards, l *load) error {
	g.kill(len(g.running))
	if err := t.locked(ctx, g.cluster); err != nil {
		return err
	}
	accepted := l.accepted.Load()
	if err := t.notLocked(ctx, g.cluster); err != nil {
		return err
	}
	if more := l.accepted.Load() - accepted; more > 0 {
		return fmt.Errorf("%d writes of guarded objects were accepted without a guard", more)
	}
	return g.start()
}
