package compare

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"holdfast.dev/holdfast/bench/side"
)

// nodeSection is the table about nodes and pods.
const nodeSection = "nodes and pods"

// nodes measures the requests of nodes, and then servers with many nodes and pods.
func (r *runner) nodes(ctx context.Context) error {
	err := r.serve(ctx, func(servers []*side.Server) error {
		for _, server := range servers {
			if err := createServiceAccount(ctx, server); err != nil {
				return err
			}
		}
		if err := pause(ctx, r.settings.Settle); err != nil {
			return err
		}
		return r.send(ctx, servers, nodeRows())
	})
	if err != nil {
		return err
	}
	return r.lifetimes(r.settings.Starts, connectedRows(r.settings), func(sideIndex int) ([]Sample, error) {
		return r.connect(ctx, sideIndex)
	})
}

// nodeRows returns the rows about requests that 16 nodes send, or other components for their pods.
func nodeRows() []requestRow {
	rows := []requestRow{
		{Row: Row{Name: "Lease update", Goal: builtinGoal}, prepare: createOwn, send: sendUpdate, target: leases()},
		{Row: Row{Name: "Node status patch", Goal: builtinGoal}, prepare: createOwn, send: sendStatus, target: nodes()},
		{Row: Row{Name: "Pod create", Goal: builtinGoal}, send: sendCreate, target: pods(), grows: true},
		{Row: Row{Name: "Pod status patch", Goal: builtinGoal}, prepare: createOwn, send: sendStatus, target: pods()},
		{Row: Row{Name: "Event create", Goal: builtinGoal}, send: sendCreate, target: events(), grows: true},
	}
	for i := range rows {
		rows[i].Section, rows[i].clients, rows[i].requests = nodeSection, 16, 300
	}
	return rows
}

// connectedRows are the rows about connected nodes, in the order in which connect measures them.
func connectedRows(s Settings) []Row {
	return []Row{
		{Section: nodeSection, Name: "CPU time until a node is connected", Unit: "ms"},
		{Section: nodeSection, Name: fmt.Sprintf("memory added by %d nodes", s.Nodes), Unit: "MB"},
		{Section: nodeSection, Name: "CPU time until a pod runs", Unit: "ms"},
		{Section: nodeSection, Name: fmt.Sprintf("memory added by %d pods", s.Pods), Unit: "MB"},
		{Section: nodeSection, Name: "CPU time until a node is back after a restart", Unit: "ms"},
	}
}

// connect connects nodes to a server, starts pods on them, starts the server again and waits until the nodes are back.
func (r *runner) connect(ctx context.Context, sideIndex int) ([]Sample, error) {
	l, err := r.begin(ctx, sideIndex)
	if err != nil {
		return nil, err
	}
	defer func() { l.stop() }()
	if err := createServiceAccount(ctx, l.server); err != nil {
		return nil, err
	}
	l.samples = nil
	group := &nodeGroup{count: r.settings.Nodes}
	defer func() { group.disconnect() }()
	if err := l.costs(ctx, r.settings.Nodes, func() error { return group.join(ctx, l.server) }); err != nil {
		return nil, err
	}
	if err := l.costs(ctx, r.settings.Pods, func() error { return group.run(ctx, l.server, r.settings.Pods) }); err != nil {
		return nil, err
	}
	group.disconnect()
	connected := l.samples
	if err := l.restart(); err != nil {
		return nil, err
	}
	used, err := measure(l.server, func() error { return group.watch(ctx, l.server) })
	if err != nil {
		return nil, err
	}
	return append(connected, used.sample(milliseconds(used.cpu)/float64(r.settings.Nodes))), nil
}

// costs adds the CPU time of one of n pieces of work, and the memory by which all of them make the server grow.
func (l *life) costs(ctx context.Context, n int, work func() error) error {
	return l.grown(ctx, func() error { return l.each(ctx, n, work) })
}

// each adds the CPU time and the allocated memory of one of n pieces of work.
func (l *life) each(ctx context.Context, n int, work func() error) error {
	m, err := newMeter(l.server)
	if err != nil {
		return err
	}
	defer m.client.Close()
	one, err := m.measureRequests(ctx, n, 1, work)
	if err != nil {
		return err
	}
	one.Wait = 0 // a piece is more than one request
	l.add(one)
	return nil
}

// createServiceAccount creates the ServiceAccount of pods. A kube-controller-manager does this in a cluster, and Holdfast itself.
func createServiceAccount(ctx context.Context, server *side.Server) error {
	client, err := server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Do(ctx, side.Request{
		Method: http.MethodPost, Path: "/api/v1/namespaces/default/serviceaccounts",
		Body: encode(object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{"name": "default"}}),
	})
	var refused *side.StatusError
	if errors.As(err, &refused) && refused.Code == http.StatusConflict {
		return nil
	}
	return err
}
