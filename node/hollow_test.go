package node_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/access"
	"holdfast.dev/holdfast/node"
	"holdfast.dev/holdfast/projection"
)

// hollowVolumes are volumes without files, for agents of which many run in one
// process.
type hollowVolumes struct {
	mu      sync.Mutex
	volumes map[types.UID]map[string]projection.Payload
	// writes counts the changes of all agents.
	writes *atomic.Int64
}

func (h *hollowVolumes) Path(pod types.UID, volume string) string {
	return fmt.Sprintf("/hollow/%s/%s", pod, volume)
}

func (h *hollowVolumes) Write(pod types.UID, volume string, payload projection.Payload, check func(string) error) (bool, error) {
	if check != nil {
		return false, fmt.Errorf("hollow volumes cannot be checked")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if current, ok := h.volumes[pod][volume]; ok && current.Equal(payload) {
		return false, nil
	}
	if h.volumes[pod] == nil {
		h.volumes[pod] = map[string]projection.Payload{}
	}
	h.volumes[pod][volume] = payload
	h.writes.Add(1)
	return true, nil
}

func (h *hollowVolumes) Read(pod types.UID, volume string) (projection.Payload, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if payload, ok := h.volumes[pod][volume]; ok {
		return payload, nil
	}
	return nil, fs.ErrNotExist
}

func (h *hollowVolumes) Repair(types.UID, string) error { return nil }

func (h *hollowVolumes) Remove(pod types.UID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.volumes, pod)
	return nil
}

func (h *hollowVolumes) Pods() ([]types.UID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.volumes)), nil
}

// hollowState is memory that is lost with the process.
type hollowState struct {
	mu      sync.Mutex
	records map[types.UID]*node.Record
	objects map[types.UID]*node.Object
}

func (h *hollowState) Key() ([]byte, error) { return make([]byte, 32), nil }

func (h *hollowState) Records() ([]*node.Record, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.records)), nil
}

func (h *hollowState) SaveRecord(record *node.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records[record.UID] = record
	return nil
}

func (h *hollowState) DeleteRecord(uid types.UID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.records, uid)
	return nil
}

func (h *hollowState) Object(uid types.UID) (*node.Object, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if object, ok := h.objects[uid]; ok {
		return object, nil
	}
	return nil, fs.ErrNotExist
}

func (h *hollowState) Objects() ([]types.UID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.objects)), nil
}

func (h *hollowState) SaveObject(object *node.Object) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.objects[object.UID] = object
	return nil
}

func (h *hollowState) DeleteObject(uid types.UID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.objects, uid)
	return nil
}

// fleet is many agents in this process, each with its own credential and
// connection.
type fleet struct {
	agents  []*node.Agent
	writes  atomic.Int64
	rate    rate
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// startFleet runs the agents of nodes node-0 and up against a server whose
// authority is at hand.
func startFleet(b *testing.B, admin *rest.Config, authority *access.Authority, r hollowRun) *fleet {
	b.Helper()
	f := &fleet{}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // the fleet ends before the server, in the order of cleanups
	f.cancel = cancel
	b.Cleanup(f.stop)
	for i := range r.nodes {
		name := fmt.Sprintf("node-%d", i)
		pair, err := authority.Issue(access.Subject{User: "system:node:" + name, Groups: []string{"system:nodes"}}, time.Now())
		if err != nil {
			b.Fatal(err)
		}
		config := &rest.Config{Host: admin.Host, QPS: 50, Burst: 100, TLSClientConfig: rest.TLSClientConfig{
			CAData: admin.CAData, CertData: pair.Cert, KeyData: pair.Key,
		}}
		config.Wrap(f.rate.over)
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			b.Fatal(err)
		}
		agent, err := node.New(node.Config{
			Client: client, Name: name, WatchEach: r.each, WatchImmutable: r.gateOff,
			Volumes: &hollowVolumes{volumes: map[types.UID]map[string]projection.Payload{}, writes: &f.writes},
			State:   &hollowState{records: map[types.UID]*node.Record{}, objects: map[types.UID]*node.Object{}},
		})
		if err != nil {
			b.Fatal(err)
		}
		f.agents = append(f.agents, agent)
	}
	for _, agent := range f.agents {
		f.running.Go(func() {
			if err := agent.Run(ctx); err != nil {
				b.Error(err)
			}
		})
	}
	return f
}

func (f *fleet) stop() {
	f.cancel()
	f.running.Wait()
}

// watches is how many watches the fleet has open.
func (f *fleet) watches(b *testing.B) int {
	b.Helper()
	sum := 0.0
	for _, a := range f.agents {
		sum += (&agent{Agent: a}).gauge(b, "holdfast_node_open_watches")
	}
	return int(sum)
}

// rate counts requests in slices of time.
type rate struct {
	mu     sync.Mutex
	slices map[int64]int
}

const rateSlice = 200 * time.Millisecond

func (r *rate) over(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		r.mu.Lock()
		if r.slices == nil {
			r.slices = map[int64]int{}
		}
		r.slices[time.Now().UnixNano()/int64(rateSlice)]++
		r.mu.Unlock()
		return next.RoundTrip(request)
	})
}

// reset forgets; peak is the highest rate since, in requests per second.
func (r *rate) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slices = nil
}

func (r *rate) peak() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := 0
	for _, count := range r.slices {
		most = max(most, count)
	}
	return float64(most) / rateSlice.Seconds()
}
