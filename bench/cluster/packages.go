package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// operator installs the package zookeeper. The step "ensemble" of its plan waits until three pods are ready. The pods wait for their
// volumes, which are created only when the plan was seen waiting. After that step, the step "metrics" creates a Service.
func (c *Cluster) operator(ctx context.Context) (string, error) {
	err := c.command(ctx, "", "kudo", "install", filepath.Join(c.settings.Packages, "0.1.0"), "--instance", "zookeeper",
		"-p", "CLUSTER_NAME=main", "-p", "METRICS=true", "-p", "CPUS=1m", "-p", "CPUS_LIMIT=1m", "-p", "MEM=1Mi", "-p", "MEM_LIMIT=1Mi")
	if err != nil {
		return "", err
	}
	waiting, err := c.until(ctx, c.plan("IN_PROGRESS", 0))
	if err != nil {
		return "", err
	}
	if _, err := c.get(ctx, path("v1/services/zookeeper-metrics")); err == nil {
		return "", fmt.Errorf("the next step did not wait: %s", waiting)
	}
	var volumes strings.Builder
	for i := range 3 {
		_, _ = fmt.Fprintf(&volumes, "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk-%d}\n"+
			"spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /dev/null}}\n", i)
	}
	if err := c.create(ctx, volumes.String()); err != nil {
		return "", err
	}
	complete, err := c.until(ctx, c.plan("COMPLETE", 3))
	if err != nil {
		return "", err
	}
	_, err = c.get(ctx, path("v1/services/zookeeper-metrics"))
	return "without volumes " + waiting + "; with volumes " + complete, err
}

// plan is a check of the plan deploy and of its pods.
func (c *Cluster) plan(status string, ready int) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		instance, err := c.get(ctx, path("kudo.dev/v1beta1/instances/zookeeper"))
		if err != nil {
			return "", err
		}
		set, err := c.get(ctx, path("apps/v1/statefulsets/zookeeper"))
		if err != nil {
			return "", err
		}
		plan := instance.Status.PlanStatus["deploy"].Status
		return expect(plan == status && set.Status.Replicas == 3 && set.Status.ReadyReplicas == ready,
			"%d of %d pods are ready and the plan is %s", set.Status.ReadyReplicas, set.Status.Replicas, plan)
	}
}
