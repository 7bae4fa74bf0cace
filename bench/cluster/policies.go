package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"holdfast.dev/holdfast/bench/side"
)

func (c *Cluster) service(ctx context.Context) (string, error) {
	err := c.create(ctx, "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}")
	if err != nil {
		return "", err
	}
	before, err := c.until(ctx, c.endpoints(5))
	if err != nil {
		return "", err
	}
	if err := c.command(ctx, "", "scale", "deployment", "web", "--replicas=3"); err != nil {
		return "", err
	}
	after, err := c.until(ctx, c.endpoints(3))
	return before + ", " + after + " after the Deployment was scaled down", err
}

// endpoints is a check that the Service has a number of ready addresses, those of its pods.
func (c *Cluster) endpoints(want int) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		slices, err := c.list(ctx, path("discovery.k8s.io/v1/endpointslices")+"?labelSelector=kubernetes.io%2Fservice-name%3Dweb")
		if err != nil {
			return "", err
		}
		all, ready := 0, 0
		for _, slice := range slices {
			for _, endpoint := range slice.Endpoints {
				all++
				if endpoint.Conditions.Ready {
					ready++
				}
			}
		}
		return expect(all == want && ready == want, "%d ready addresses", ready)
	}
}

// evict evicts a pod of the Deployment web, which has three: first the budget needs all of them, then two.
func (c *Cluster) evict(ctx context.Context) (string, error) {
	err := c.create(ctx, "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"+
		"spec: {minAvailable: 3, selector: {matchLabels: {app: web}}}")
	if err != nil {
		return "", err
	}
	if _, err := c.until(ctx, c.allowed(0)); err != nil {
		return "", err
	}
	pods, err := c.pods(ctx)
	if err != nil {
		return "", err
	}
	pod := pods[0].Metadata.Name
	eviction := side.Request{
		Method: http.MethodPost, Path: path("v1/pods/" + pod + "/eviction"),
		Body: fmt.Appendf(nil, `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q}}`, pod),
	}
	var refused *side.StatusError
	if _, err := c.client.Do(ctx, eviction); !errors.As(err, &refused) || refused.Code != http.StatusTooManyRequests {
		return "", fmt.Errorf("the eviction was not refused: %w", err)
	}
	if err := c.merge(ctx, path("policy/v1/poddisruptionbudgets/web"), `{"spec":{"minAvailable":2}}`); err != nil {
		return "", err
	}
	if _, err := c.until(ctx, c.allowed(1)); err != nil {
		return "", err
	}
	if _, err := c.client.Do(ctx, eviction); err != nil {
		return "", err
	}
	_, err = c.until(ctx, func(ctx context.Context) (string, error) {
		if _, err := c.get(ctx, path("v1/pods/"+pod)); err == nil {
			return "", errors.New("the pod is still there")
		}
		return c.available("web:1", 3)(ctx)
	})
	return "refused with 429 under minAvailable 3, done under minAvailable 2, and the pod was replaced", err
}

// allowed is a check of the number of pods that the budget allows to evict.
func (c *Cluster) allowed(want int) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		budget, err := c.get(ctx, path("policy/v1/poddisruptionbudgets/web"))
		if err != nil {
			return "", err
		}
		s := budget.Status
		return expect(s.ObservedGeneration == budget.Metadata.Generation && s.DisruptionsAllowed == want, "%d evictions are allowed", s.DisruptionsAllowed)
	}
}

// limited is the namespace with a quota.
const limited = "limited"

// quota rolls out three replicas in a namespace with a quota of two pods, and then raises the quota.
func (c *Cluster) quota(ctx context.Context) (string, error) {
	manifest := strings.ReplaceAll(workload("Deployment", "web", "  replicas: 3"), "{name: web}", "{name: web, namespace: limited}")
	err := c.create(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: limited}\n---\napiVersion: v1\nkind: ResourceQuota\n"+
		"metadata: {name: few, namespace: limited}\nspec: {hard: {pods: \"2\"}}\n---"+manifest)
	if err != nil {
		return "", err
	}
	const namespaced = "/namespaces/" + limited
	before, err := c.until(ctx, func(ctx context.Context) (string, error) {
		d, err := c.get(ctx, "/apis/apps/v1"+namespaced+"/deployments/web")
		if err != nil {
			return "", err
		}
		failure := d.condition("ReplicaFailure")
		return expect(d.Status.AvailableReplicas == 2 && strings.Contains(failure.Message, "exceeded quota: few"),
			"%d of 3 replicas, %s", d.Status.AvailableReplicas, failure.Reason)
	})
	if err != nil {
		return "", err
	}
	if err := c.merge(ctx, "/api/v1"+namespaced+"/resourcequotas/few", `{"spec":{"hard":{"pods":"3"}}}`); err != nil {
		return "", err
	}
	after, err := c.until(ctx, func(ctx context.Context) (string, error) {
		q, err := c.get(ctx, "/api/v1"+namespaced+"/resourcequotas/few")
		if err != nil {
			return "", err
		}
		d, err := c.get(ctx, "/apis/apps/v1"+namespaced+"/deployments/web")
		if err != nil {
			return "", err
		}
		return expect(d.Status.AvailableReplicas == 3 && q.Status.Used["pods"] == "3",
			"%d of 3 replicas, %s pods used", d.Status.AvailableReplicas, q.Status.Used["pods"])
	})
	return "hard 2: " + before + "; hard 3: " + after, err
}

func (c *Cluster) deleteNamespace(ctx context.Context) (string, error) {
	if err := c.command(ctx, "", "delete", "namespace", limited, "--wait=false"); err != nil {
		return "", err
	}
	return c.until(ctx, func(ctx context.Context) (string, error) {
		_, err := c.get(ctx, "/api/v1/namespaces/"+limited)
		var refused *side.StatusError
		if errors.As(err, &refused) && refused.Code == http.StatusNotFound {
			return "emptied and gone", nil
		}
		return "", errors.Join(errors.New("the namespace is still there"), err)
	})
}
