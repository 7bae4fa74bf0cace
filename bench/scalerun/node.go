package scalerun

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"holdfast.dev/holdfast/bench/manifest"
	"holdfast.dev/holdfast/bench/side"
)

// node is a simulated node.
type node struct {
	fleet  *fleet
	name   string
	client *side.Client
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
	// waiting has the events of pods that the node handles next.
	waiting chan event
	// pods has the pods that the node runs, and configs the objects that it has read. Only the goroutine of handle uses them.
	pods    map[string]podState
	configs map[string]bool
}

// podState is what a node has done with a pod.
type podState int

const (
	started podState = iota + 1
	ended
)

const (
	leasePath = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	nodePath  = "/api/v1/nodes"
)

func nodeName(number int) string { return fmt.Sprintf("node-%05d", number) }

// join creates the nodes, and returns when the watches of all of them are open.
func (f *fleet) join(ctx context.Context) error {
	f.nodes = make([]*node, f.settings.Nodes)
	// The watches of the readers.
	want := int64(2*f.settings.Readers) + int64(min(1, f.settings.Readers)) + int64(f.settings.Nodes)
	for i := range f.nodes {
		n := &node{fleet: f, name: nodeName(i), waiting: make(chan event, 256), pods: map[string]podState{}, configs: map[string]bool{}}
		var err error
		if n.client, err = f.server.Client(side.User{Name: "system:node:" + n.name, Groups: []string{"system:nodes"}}); err != nil {
			return err
		}
		n.ctx, n.cancel = context.WithCancel(f.ctx)
		f.nodes[i] = n
	}
	if err := each(f.settings.Creators, len(f.nodes), func(_, i int) error { return f.nodes[i].register(ctx) }); err != nil {
		return err
	}
	for _, n := range f.nodes {
		n.start()
	}
	return f.awaitWatches(ctx, want)
}

// register creates the Node and its Lease, and writes the status of the Node.
func (n *node) register(ctx context.Context) error {
	for _, one := range []struct {
		resource, path string
		obj            manifest.Map
	}{{"nodes", nodePath, manifest.Node(n.name, 1)}, {"leases", leasePath, manifest.LeaseAt(n.name, time.Now())}} {
		request := side.Request{Method: http.MethodPost, Path: one.path, Body: manifest.Encode(one.obj)}
		if err := n.fleet.again(ctx, n.client, kind{"create", one.resource}, request); err != nil {
			return err
		}
	}
	return n.writeStatus(ctx, 1)
}

// start starts the work of the node, which ends with its context.
func (n *node) start() {
	n.run(func() { n.renew(n.ctx) })
	n.run(func() {
		for {
			select {
			case <-n.ctx.Done():
				return
			case e := <-n.waiting:
				n.handle(e)
			}
		}
	})
	n.run(func() {
		n.fleet.follow(n.ctx, &stream{
			client: n.client, path: "/api/v1/pods?fieldSelector=spec.nodeName%3D" + n.name, resource: "pods of a node", see: n.see,
		})
	})
}

// run runs a part of the work.
func (n *node) run(work func()) {
	n.group.Add(1)
	n.fleet.group.Go(func() {
		defer n.group.Done()
		work()
	})
}

// lose ends the node without a word to the server.
func (n *node) lose() {
	n.cancel()
	n.group.Wait()
	n.client.Close()
}

// see hands an event to the goroutine that handles it.
func (n *node) see(e event) {
	if e.kind == "BOOKMARK" {
		return
	}
	select {
	case <-n.ctx.Done():
	case n.waiting <- e:
	}
}

// renew writes the Lease and the status of the node in their intervals. The nodes begin at different times.
func (n *node) renew(ctx context.Context) {
	s := n.fleet.settings
	if pause(ctx, time.Duration(rand.Float64()*float64(s.Lease))) != nil {
		return
	}
	lease, revision := time.NewTicker(s.Lease), ""
	defer lease.Stop()
	written, generation := time.Now().Add(-time.Duration(rand.Float64()*float64(s.Status))), 1
	for {
		revision = n.writeLease(ctx, revision)
		if time.Since(written) >= s.Status {
			written, generation = written.Add(s.Status), generation+1
			_ = n.writeStatus(ctx, generation) // the failure is counted
		}
		select {
		case <-ctx.Done():
			return
		case <-lease.C:
		}
	}
}

// writeLease renews the Lease and returns its revision, which is empty if the node must read it first.
func (n *node) writeLease(ctx context.Context, revision string) string {
	path := leasePath + "/" + n.name
	if revision == "" {
		answer, err := n.fleet.do(ctx, n.client, kind{"get", "leases"}, side.Request{Method: http.MethodGet, Path: path})
		if err != nil {
			return ""
		}
		revision = revisionOf(answer)
	}
	obj := manifest.LeaseAt(n.name, time.Now())
	obj["metadata"].(manifest.Map)["resourceVersion"] = revision
	answer, err := n.fleet.do(ctx, n.client, kind{"update", "leases"}, side.Request{Method: http.MethodPut, Path: path, Body: manifest.Encode(obj)})
	if err != nil {
		return ""
	}
	return revisionOf(answer)
}

// writeStatus writes the status of the Node.
func (n *node) writeStatus(ctx context.Context, generation int) error {
	return n.patchStatus(ctx, "nodes/status", nodePath+"/"+n.name, manifest.NodeStatus(generation))
}

func (n *node) patchStatus(ctx context.Context, resource, path string, status manifest.Map) error {
	err := n.fleet.again(ctx, n.client, kind{"patch", resource}, side.Request{
		Method: http.MethodPatch, Path: path + "/status", ContentType: "application/strategic-merge-patch+json", Body: manifest.Encode(status),
	})
	if isCode(err, http.StatusNotFound) {
		return nil // the object was deleted, and the watch says it
	}
	return err
}
