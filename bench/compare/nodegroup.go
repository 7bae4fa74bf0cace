package compare

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"holdfast.dev/holdfast/bench/side"
)

// nodeGroup is a number of nodes that are connected to a server. Each has a credential, a connection and a watch of its pods.
type nodeGroup struct {
	count   int
	clients []*side.Client
	open    []*watches
}

func nodeName(number int) string { return fmt.Sprintf("node-%05d", number) }

// join creates the Node and the Lease of each node, and opens its watch.
func (g *nodeGroup) join(ctx context.Context, server *side.Server) error {
	return g.eachNode(ctx, server, func(client *side.Client, name string) error {
		for _, t := range []target{nodes(), leases()} {
			if _, err := client.Do(ctx, side.Request{Method: http.MethodPost, Path: t.path, Body: encode(t.instance(name, 1))}); err != nil {
				return err
			}
		}
		_, err := client.Do(ctx, statusPatch(nodes(), name, 1))
		return err
	})
}

// watch opens the watch of each node, as after a restart of the server.
func (g *nodeGroup) watch(ctx context.Context, server *side.Server) error {
	return g.eachNode(ctx, server, func(client *side.Client, name string) error {
		_, err := client.Do(ctx, side.Request{Method: http.MethodGet, Path: "/api/v1/nodes/" + name})
		return err
	})
}

// eachNode calls do for each node with a client of its own, and then lists and watches the pods of the node.
func (g *nodeGroup) eachNode(ctx context.Context, server *side.Server, do func(*side.Client, string) error) error {
	g.clients, g.open = make([]*side.Client, g.count), make([]*watches, g.count)
	return atATime(g.count, func(i int) (err error) {
		name := nodeName(i)
		user := side.User{Name: "system:node:" + name, Groups: []string{"system:nodes"}}
		if g.clients[i], err = server.Client(user); err != nil {
			return err
		}
		if err := do(g.clients[i], name); err != nil {
			return err
		}
		path := "/api/v1/pods?fieldSelector=spec.nodeName%3D" + name
		answer, err := g.clients[i].Do(ctx, side.Request{Method: http.MethodGet, Path: path + "&resourceVersion=0"})
		if err != nil {
			return err
		}
		g.open[i], err = openWatches(ctx, g.clients[i], path+"&watch=true&resourceVersion="+revisionOf(answer), 1)
		return err
	})
}

// run creates pods on the nodes, and sets their status to Running.
func (g *nodeGroup) run(ctx context.Context, server *side.Server, count int) error {
	client, err := server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	t := pods()
	return atATime(count, func(i int) error {
		name, at := fmt.Sprintf("pod-%06d", i), i%g.count
		obj := t.instance(name, 1)
		obj["spec"].(object)["nodeName"] = nodeName(at)
		if _, err := client.Do(ctx, side.Request{Method: http.MethodPost, Path: t.path, Body: encode(obj)}); err != nil {
			return err
		}
		_, err := g.clients[at].Do(ctx, statusPatch(t, name, i))
		return err
	})
}

// disconnect closes the watches and connections.
func (g *nodeGroup) disconnect() {
	for i, client := range g.clients {
		if g.open[i] != nil {
			g.open[i].close()
		}
		if client != nil {
			client.Close()
		}
	}
	g.clients, g.open = nil, nil
}

// atATime calls do for the numbers below n, creators of them at a time, until one fails.
func atATime(n int, do func(i int) error) error {
	errs := make([]error, creators)
	var group sync.WaitGroup
	for worker := range creators {
		group.Go(func() {
			for i := worker; i < n && errs[worker] == nil; i += creators {
				errs[worker] = do(i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
