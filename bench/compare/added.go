package compare

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"holdfast.dev/holdfast/bench/side"
)

const addedSection = "memory of objects"

// addedGoal is the goal of the rows about the memory of one object.
const addedGoal = 0.2

// added are the kinds of which a stored object takes memory. They need no connections: connectedRows are about those.
func added() []struct {
	name   string
	target target
} {
	return []struct {
		name   string
		target target
	}{{"ConfigMap", configMaps()}, {"pod", pods()}, {"node", nodes()}}
}

// addedRows are the rows about one kind, in the order in which addObjects measures them.
func addedRows(kind string, counts []int) []Row {
	var rows []Row
	for _, n := range counts {
		rows = append(rows, Row{Section: addedSection, Name: fmt.Sprintf("a %s, of %d", kind, n), Unit: "KB", Goal: addedGoal})
		rows = append(rows, Row{Section: addedSection, Name: fmt.Sprintf("a %s, of %d, live heap", kind, n), Unit: "KB", Goal: addedGoal})
	}
	return rows
}

// memory measures the memory that an object adds to a server, with each number of objects.
func (r *runner) memory(ctx context.Context) error {
	counts := r.settings.Stored
	for _, one := range added() {
		samples := r.settings.samplesOf(slices.Max(counts), veryManyStored)
		err := r.lifetimes(samples, addedRows(one.name, counts), func(sideIndex int) ([]Sample, error) {
			return r.addObjects(ctx, sideIndex, one.target, counts)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addObjects creates objects until there is each of the numbers, and measures by how much the server is larger than without them.
func (r *runner) addObjects(ctx context.Context, sideIndex int, t target, counts []int) ([]Sample, error) {
	l, err := r.begin(ctx, sideIndex)
	if err != nil {
		return nil, err
	}
	defer l.stop()
	m, err := newMeter(l.server)
	if err != nil {
		return nil, err
	}
	defer m.client.Close()
	if err := prepareForPods(ctx, l.server, m.client); err != nil {
		return nil, err
	}
	// A list makes a server fill the cache of a kind, if it has not done so at its start.
	if err := listOnce(ctx, l.server, t); err != nil {
		return nil, err
	}
	base, err := l.collected(ctx, m)
	if err != nil {
		return nil, err
	}
	var samples []Sample
	have := 0
	for _, n := range counts {
		if err := createStored(ctx, m.client, t, have, n); err != nil {
			return nil, err
		}
		have = n
		now, err := l.collected(ctx, m)
		if err != nil {
			return nil, err
		}
		samples = append(samples, now.used.sample(float64(now.resident-base.resident)/1024/float64(n)),
			now.used.sample((now.live-base.live)/1024/float64(n)))
	}
	return samples, nil
}

// footprint is the memory of a server that has collected its garbage and is at rest.
type footprint struct {
	used     usage
	resident int64
	live     float64
}

// collected lets the server collect its garbage, waits until it is at rest, and returns its memory. Without the collection, the resident
// memory has as much garbage as the server allows itself while it is busy.
func (l *life) collected(ctx context.Context, m *meter) (f footprint, err error) {
	peak, err := l.server.PeakMemory()
	if err != nil {
		return f, err
	}
	if f.live, err = l.server.LiveHeap(ctx, m.client); err != nil {
		return f, err
	}
	f.used, f.resident, err = l.settle(ctx)
	f.used.peak = max(f.used.peak, peak)
	return f, err
}

// podNodes is the number of nodes that the stored pods are bound to.
const podNodes = 100

// prepareForPods creates the ServiceAccount of the pods, and their nodes: a controller of Holdfast deletes pods whose node does not exist.
func prepareForPods(ctx context.Context, server *side.Server, client *side.Client) error {
	if err := createServiceAccount(ctx, server); err != nil {
		return err
	}
	return atATime(podNodes, func(i int) error {
		_, err := client.Do(ctx, side.Request{Method: http.MethodPost, Path: nodes().path, Body: encode(nodes().instance(nodeName(i), 1))})
		return err
	})
}

// createStored creates the objects from a number to another, with their status.
func createStored(ctx context.Context, client *side.Client, t target, from, to int) error {
	return atATime(to-from, func(i int) error {
		name := fmt.Sprintf("stored-%06d", from+i)
		obj := t.instance(name, 1)
		if spec, ok := obj["spec"].(object); ok && spec["containers"] != nil {
			spec["nodeName"] = nodeName(i % podNodes) // a pod without a node cannot run
		}
		if _, err := client.Do(ctx, side.Request{Method: http.MethodPost, Path: t.path, Body: encode(obj)}); err != nil {
			return err
		}
		if t.status == nil {
			return nil
		}
		_, err := client.Do(ctx, statusPatch(t, name, 1))
		return err
	})
}
