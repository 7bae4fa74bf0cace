package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// simulatedKey is the label and the taint of simulated nodes.
const simulatedKey = "simulated"

// The intervals of a kubelet.
const (
	leaseInterval  = 10 * time.Second
	statusInterval = 5 * time.Minute
)

// simulation is a number of simulated nodes.
type simulation struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// simulate starts the simulated nodes. They end when the context ends or stop is called.
func simulate(ctx context.Context, server *side.Server, settings Settings) (*simulation, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &simulation{cancel: cancel}
	for i := range settings.Simulated {
		n := &simulatedNode{name: fmt.Sprintf("simulated-%d", i), number: i}
		var err error
		if n.client, err = server.Client(nodeUser(n.name)); err == nil {
			err = n.register(ctx, settings.Taint)
		}
		if err != nil {
			s.stop()
			return nil, fmt.Errorf("node %s: %w", n.name, err)
		}
		s.done.Go(func() { n.renew(ctx) })
		s.done.Go(func() { n.run(ctx) })
	}
	return s, nil
}

// stop ends the nodes and waits for their end.
func (s *simulation) stop() {
	s.cancel()
	s.done.Wait()
}

// simulatedNode is the kubelet of a simulated node.
type simulatedNode struct {
	name   string
	number int
	pods   int
	client *side.Client
}

// register creates the Node and its Lease, and writes the status of the Node.
func (n *simulatedNode) register(ctx context.Context, taint bool) error {
	taints := "[]"
	if taint {
		taints = fmt.Sprintf(`[{"key":%q,"effect":"NoSchedule"}]`, simulatedKey)
	}
	for path, body := range map[string]string{
		"/api/v1/nodes": fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%q:"true","kubernetes.io/hostname":%q,"kubernetes.io/os":"linux"}},"spec":{"taints":%s}}`,
			n.name, simulatedKey, n.name, taints),
		leases: fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"holderIdentity":%q,"leaseDurationSeconds":40,"renewTime":%q}}`,
			n.name, n.name, microTime()),
	} {
		if _, err := n.client.Do(ctx, side.Request{Method: http.MethodPost, Path: path, Body: []byte(body)}); err != nil {
			return err
		}
	}
	return n.writeStatus(ctx)
}

const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

func microTime() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000Z") }

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// writeStatus writes the status of the Node.
func (n *simulatedNode) writeStatus(ctx context.Context) error {
	const resources = `{"cpu":"16","memory":"64Gi","pods":"110"}`
	conditions := ""
	for kind, status := range map[string]string{"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"} {
		conditions += fmt.Sprintf(`,{"type":%q,"status":%q,"reason":"Simulated","lastHeartbeatTime":%q}`, kind, status, now())
	}
	return n.patch(ctx, "/api/v1/nodes/"+n.name+"/status", fmt.Sprintf(
		`{"status":{"capacity":%s,"allocatable":%s,"conditions":[%s],"addresses":[{"type":"InternalIP","address":%q}],`+
			`"nodeInfo":{"operatingSystem":"linux","architecture":"amd64"}}}`, resources, resources, conditions[1:], n.address(0)))
}

// patch sends a strategic merge patch, as a kubelet does.
func (n *simulatedNode) patch(ctx context.Context, path, body string) error {
	_, err := n.client.Do(ctx, side.Request{
		Method: http.MethodPatch, Path: path, ContentType: "application/strategic-merge-patch+json", Body: []byte(body),
	})
	return err
}

// renew renews the Lease and the status, until the context ends. A failure becomes visible: the Node is no longer ready.
func (n *simulatedNode) renew(ctx context.Context) {
	lease, status := time.NewTicker(leaseInterval), time.NewTicker(statusInterval)
	defer lease.Stop()
	defer status.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-lease.C:
			_ = n.patch(ctx, leases+"/"+n.name, fmt.Sprintf(`{"spec":{"renewTime":%q}}`, microTime()))
		case <-status.C:
			_ = n.writeStatus(ctx)
		}
	}
}

// run watches the pods of the node and writes their status, until the context ends.
func (n *simulatedNode) run(ctx context.Context) {
	for ctx.Err() == nil {
		// A watch that ends is started again, as by any client. It begins with all pods of the node.
		_ = watch(ctx, n.client, "/api/v1/pods?fieldSelector=spec.nodeName%3D"+n.name, func(e event) (bool, error) {
			return false, n.handle(ctx, e)
		})
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// handle starts a new pod, observes a changed one, and removes a pod that is being deleted.
func (n *simulatedNode) handle(ctx context.Context, e event) error {
	pod := &e.Object
	request := side.Request{
		Method: http.MethodDelete, Path: "/api/v1/namespaces/" + pod.Metadata.Namespace + "/pods/" + pod.Metadata.Name,
		Body: []byte(`{"gracePeriodSeconds":0}`),
	}
	var err error
	switch {
	case e.Type == "DELETED" || e.Type == "BOOKMARK":
		return nil
	case pod.Metadata.DeletionTimestamp != "":
		_, err = n.client.Do(ctx, request)
	case pod.Status.Phase == "" || pod.Status.Phase == "Pending":
		n.pods++
		var status []byte
		if status, err = json.Marshal(map[string]any{"status": n.podStatus(pod)}); err == nil {
			err = n.patch(ctx, request.Path+"/status", string(status))
		}
	case pod.Status.ObservedGeneration < pod.Metadata.Generation:
		err = n.patch(ctx, request.Path+"/status", fmt.Sprintf(`{"status":{"observedGeneration":%d}}`, pod.Metadata.Generation))
	}
	var refused *side.StatusError
	if errors.As(err, &refused) && (refused.Code == http.StatusNotFound || refused.Code == http.StatusConflict) {
		return nil // the pod has changed, and the watch says how
	}
	return err
}
