package node_test

import (
	"context"
	"errors"
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
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/projection"
)

// hollowVolumes keeps volumes in memory. It is for benchmarks with many agents in one
// process.
type hollowVolumes struct {
	mu      sync.Mutex
	volumes map[types.UID]map[string]projection.Payload
	// writes counts the changed volumes of all agents.
	writes *atomic.Int64
}

func (h *hollowVolumes) Path(pod types.UID, volume string) string {
	return fmt.Sprintf("/hollow/%s/%s", pod, volume)
}

func (h *hollowVolumes) Write(owner node.VolumeOwner, volume string, payload projection.Payload) (bool, error) {
	pod := owner.UID
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

func (h *hollowVolumes) Link(node.VolumeOwner, string) error { return nil }

func (h *hollowVolumes) Stage(node.VolumeOwner, string, projection.Payload) (string, error) {
	return "", errors.New("hollow volumes cannot be checked")
}

func (h *hollowVolumes) Unstage(string) error { return nil }

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

// hollowState is a State in memory, which is lost when the process ends.
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

// fleet is a number of agents in this process. Each has its own credential and connection.
type fleet struct {
	agents  []*node.Agent
	writes  atomic.Int64
	rate    requestRate
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// startFleet runs the agents of all nodes of a run. authority is the certificate authority of
// the server.
func startFleet(b *testing.B, admin *rest.Config, authority *access.Authority, r hollowRun) *fleet {
	b.Helper()
	servertest.Quiet()
	f := &fleet{}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // the cleanup ends it, before that of the server
	f.cancel = cancel
	b.Cleanup(f.stop)
	agentClock := clock.WithTicker(clock.RealClock{})
	if testing.Short() {
		agentClock = hurriedClock{}
	}
	for i := range r.nodes {
		name := r.nodeName(i)
		pair, err := authority.Issue(access.NodeSubject(name), time.Now())
		if err != nil {
			b.Fatal(err)
		}
		config := &rest.Config{Host: admin.Host, TLSClientConfig: rest.TLSClientConfig{
			CAData: admin.CAData, CertData: pair.Cert, KeyData: pair.Key,
		}}
		config.Wrap(f.rate.wrap)
		client, err := node.Connect(config, nil)
		if err != nil {
			b.Fatal(err)
		}
		agent, err := node.New(node.Config{
			Client: client, Name: name, Clock: agentClock, WatchEach: r.watchEach, WatchImmutable: r.watchImmutable,
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

// hurriedClock is the real clock with timers that are twenty times as fast. The agent has one
// such timer: how long it keeps a watch that no pod uses.
type hurriedClock struct{ clock.RealClock }

func (c hurriedClock) NewTimer(d time.Duration) clock.Timer { return c.RealClock.NewTimer(d / 20) }

func (f *fleet) stop() {
	f.cancel()
	f.running.Wait()
}

// watches returns the number of open watches of all agents.
func (f *fleet) watches(b *testing.B) int {
	b.Helper()
	sum := 0.0
	for _, a := range f.agents {
		sum += (&agent{Agent: a}).gauge(b, "holdfast_node_open_watches")
	}
	return int(sum)
}

// requestRate counts requests per second, separately for those with and without a response.
// It counts nothing before reset.
type requestRate struct {
	mu               sync.Mutex
	answered, failed map[int64]int
}

func (r *requestRate) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		second := time.Now().Unix()
		response, err := next.RoundTrip(request)
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case r.answered == nil:
		case err == nil:
			r.answered[second]++
		default:
			r.failed[second]++
		}
		return response, err
	})
}

// reset sets all counts to zero and starts counting.
func (r *requestRate) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered, r.failed = map[int64]int{}, map[int64]int{}
}

// peaks returns the highest number of requests in one second since reset.
func (r *requestRate) peaks() (answered, failed float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := func(seconds map[int64]int) float64 {
		return float64(slices.Max(append(slices.Collect(maps.Values(seconds)), 0)))
	}
	return most(r.answered), most(r.failed)
}
