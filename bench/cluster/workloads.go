package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// podSpec is a pod that ends soon after it is deleted, and leaves a lost node soon.
const podSpec = `
      terminationGracePeriodSeconds: 1
      tolerations:
      - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 1}
      - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 1}
      containers:
      - {name: main, image: "example.com/web:1", resources: {requests: {cpu: 1m, memory: 1Mi}}}
`

// workload returns the manifest of a Deployment, a StatefulSet or a DaemonSet. The fields are further lines of its spec.
func workload(kind, name, fields string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: %s
metadata: {name: %s}
spec:
  selector: {matchLabels: {app: %s}}
%s
  template:
    metadata: {labels: {app: %s}}
    spec:%s`, kind, name, name, fields, name, podSpec)
}

// available is a check that the Deployment web has rolled out its current template to all replicas.
func (c *Cluster) available(image string, replicas int) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		d, err := c.get(ctx, path("apps/v1/deployments/web"))
		if err != nil {
			return "", err
		}
		pods, err := c.pods(ctx)
		if err != nil {
			return "", err
		}
		nodes, running := map[string]bool{}, 0
		for _, pod := range pods {
			if pod.runs() && strings.HasSuffix(pod.Spec.Containers[0].Image, image) {
				running++
				nodes[pod.Spec.NodeName] = true
			}
		}
		s := d.Status
		done := s.ObservedGeneration == d.Metadata.Generation && s.UpdatedReplicas == replicas && s.AvailableReplicas == replicas &&
			s.Replicas == replicas && running == replicas
		return expect(done, "%d of %d replicas of %s are available, on %d nodes", s.AvailableReplicas, replicas, image, len(nodes))
	}
}

func (c *Cluster) rollOut(ctx context.Context) (string, error) {
	if err := c.create(ctx, workload("Deployment", "web", "  replicas: 3")); err != nil {
		return "", err
	}
	return c.until(ctx, c.available("web:1", 3))
}

func (c *Cluster) scale(ctx context.Context) (string, error) {
	if err := c.command(ctx, "", "scale", "deployment", "web", "--replicas=5"); err != nil {
		return "", err
	}
	return c.until(ctx, c.available("web:1", 5))
}

func (c *Cluster) rollBack(ctx context.Context) (string, error) {
	if err := c.command(ctx, "", "set", "image", "deployment/web", "main=example.com/web:2"); err != nil {
		return "", err
	}
	forward, err := c.until(ctx, c.available("web:2", 5))
	if err != nil {
		return "", err
	}
	if err := c.command(ctx, "", "rollout", "undo", "deployment/web"); err != nil {
		return "", err
	}
	back, err := c.until(ctx, c.available("web:1", 5))
	return forward + ", then " + back, err
}

// statefulSet creates a StatefulSet and reads the events of its pods: each pod is created after the one before is ready, and on the
// way down each is deleted after the one behind it is gone.
func (c *Cluster) statefulSet(ctx context.Context) (string, error) {
	if err := c.create(ctx, workload("StatefulSet", "db", "  replicas: 3\n  serviceName: db")); err != nil {
		return "", err
	}
	set, err := c.get(ctx, path("apps/v1/statefulsets/db"))
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	events := path("v1/pods") + "?labelSelector=app%3Ddb&resourceVersion=" + set.Metadata.ResourceVersion
	var up, down []string
	at := "0"
	err = watch(ctx, c.client, events, func(e event) (bool, error) {
		pod := e.Object.Metadata.Name
		if e.Type == "ADDED" && pod != fmt.Sprintf("db-%d", len(up)) {
			return false, fmt.Errorf("%s was created when %v were ready", pod, up)
		}
		if e.Object.runs() && pod == fmt.Sprintf("db-%d", len(up)) {
			up = append(up, pod)
		}
		at = e.Object.Metadata.ResourceVersion
		return len(up) == 3, nil
	})
	if err != nil {
		return "", fmt.Errorf("%v were ready: %w", up, err)
	}
	if err := c.command(ctx, "", "scale", "statefulset", "db", "--replicas=1"); err != nil {
		return "", err
	}
	events = path("v1/pods") + "?labelSelector=app%3Ddb&resourceVersion=" + at
	err = watch(ctx, c.client, events, func(e event) (bool, error) {
		pod, next := e.Object.Metadata.Name, fmt.Sprintf("db-%d", 2-len(down))
		if e.Object.Metadata.DeletionTimestamp != "" && pod != next {
			return false, fmt.Errorf("%s was deleted when %v were gone", pod, down)
		}
		if e.Type == "DELETED" {
			down = append(down, pod)
		}
		return len(down) == 2, nil
	})
	return fmt.Sprintf("ready in the order %v, gone in the order %v", up, down), err
}

func (c *Cluster) daemonSet(ctx context.Context) (string, error) {
	if err := c.create(ctx, workload("DaemonSet", "agent", "")); err != nil {
		return "", err
	}
	return c.until(ctx, func(ctx context.Context) (string, error) {
		d, err := c.get(ctx, path("apps/v1/daemonsets/agent"))
		if err != nil {
			return "", err
		}
		return expect(d.Status.NumberReady == c.settings.Kubelets && d.Status.DesiredNumberScheduled == c.settings.Kubelets,
			"%d of %d pods are ready, one on each node", d.Status.NumberReady, c.settings.Kubelets)
	})
}

// jobSpec is a job with pods that end, because they run on a simulated node.
const jobSpec = `
completions: 4
parallelism: 2
template:
  spec:
    restartPolicy: Never
    nodeSelector: {simulated: "true"}
    tolerations: [{key: simulated, operator: Exists}]
    containers: [{name: main, image: "example.com/task:1"}]
`

func indent(text, by string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }

func (c *Cluster) job(ctx context.Context) (string, error) {
	if err := c.create(ctx, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: task}\nspec:"+indent(jobSpec, "  ")); err != nil {
		return "", err
	}
	return c.until(ctx, func(ctx context.Context) (string, error) {
		j, err := c.get(ctx, path("batch/v1/jobs/task"))
		if err != nil {
			return "", err
		}
		return expect(j.is("Complete"), "%d of 4 pods have succeeded", j.Status.Succeeded)
	})
}

// cronJob waits for the next minute.
func (c *Cluster) cronJob(ctx context.Context) (string, error) {
	err := c.create(ctx, "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: tick}\nspec:\n  schedule: \"* * * * *\"\n  jobTemplate:\n    spec:"+
		indent(jobSpec, "      "))
	if err != nil {
		return "", err
	}
	return c.until(ctx, func(ctx context.Context) (string, error) {
		jobs, err := c.list(ctx, path("batch/v1/jobs"))
		if err != nil {
			return "", err
		}
		for _, j := range jobs {
			if owners := j.Metadata.OwnerReferences; len(owners) == 1 && owners[0].Name == "tick" {
				return expect(j.is("Complete"), "the job %s of the next minute is complete", j.Metadata.Name)
			}
		}
		return "", errors.New("there is no job yet")
	})
}
