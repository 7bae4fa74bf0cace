package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// loseNode kills the kubelet of a node with pods of the Deployment web, and waits until the pods run on other nodes.
func (c *Cluster) loseNode(ctx context.Context) (string, error) {
	pods, err := c.pods(ctx)
	if err != nil || len(pods) == 0 {
		return "", fmt.Errorf("no pods: %w", err)
	}
	lost := pods[0].Spec.NodeName
	before := 0
	for _, pod := range pods {
		if pod.Spec.NodeName == lost {
			before++
		}
	}
	c.components[lost].Kill()
	delete(c.components, lost)
	started := time.Now()
	if _, err := c.until(ctx, func(ctx context.Context) (string, error) {
		node, err := c.get(ctx, "/api/v1/nodes/"+lost)
		if err != nil {
			return "", err
		}
		return expect(node.condition("Ready").Status == "Unknown", "%s is lost", lost)
	}); err != nil {
		return "", err
	}
	noticed := time.Since(started)
	moved, err := c.until(ctx, func(ctx context.Context) (string, error) {
		pods, err := c.pods(ctx)
		if err != nil {
			return "", err
		}
		elsewhere := 0
		for _, pod := range pods {
			if pod.runs() && pod.Spec.NodeName != lost {
				elsewhere++
			}
		}
		return expect(elsewhere == 3, "%d of 3 pods run on other nodes", elsewhere)
	})
	return fmt.Sprintf("%s had %d pods; Unknown after %.0fs; %s", lost, before, noticed.Seconds(), moved), err
}

// collect deletes the Deployment web in the foreground. The Deployment is gone after its dependents.
func (c *Cluster) collect(ctx context.Context) (string, error) {
	if err := c.command(ctx, "", "delete", "deployment", "web", "--cascade=foreground", "--wait=false"); err != nil {
		return "", err
	}
	return c.until(ctx, func(ctx context.Context) (string, error) {
		if _, err := c.get(ctx, path("apps/v1/deployments/web")); err == nil {
			// The pods of the lost node have no kubelet that could end them. An administrator does it in such a case.
			return "", errors.Join(errors.New("the Deployment is still there"), c.forget(ctx))
		}
		sets, err := c.list(ctx, path("apps/v1/replicasets"))
		return expect(err == nil && len(sets) == 0, "the Deployment is gone, with %d ReplicaSets left", len(sets))
	})
}

// forget deletes the pods of lost nodes.
func (c *Cluster) forget(ctx context.Context) error {
	pods, err := c.pods(ctx)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.Metadata.DeletionTimestamp != "" && c.components[pod.Spec.NodeName] == nil {
			err := c.command(ctx, "", "delete", "pod", pod.Metadata.Name, "--force", "--grace-period=0", "--ignore-not-found")
			if err != nil {
				return err
			}
		}
	}
	return nil
}
