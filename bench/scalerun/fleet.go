package scalerun

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// fleet are the nodes and clients of one server.
type fleet struct {
	settings Settings
	server   *side.Server
	// admin is the client of an administrator, which creates what no node creates.
	admin  *side.Client
	record *recorder
	lags   *lags
	tally  *tally
	nodes  []*node
	// placed are the pods of the run. Each of the creators has the numbers of its own pods.
	placed []placedPod
	// watches is the number of open watches that have all objects.
	watches atomic.Int64
	// configWatches is the number of watches of ConfigMaps and Secrets that the nodes have.
	configWatches atomic.Int64
	// full says that the machine has no memory left for more pods, and ended that the run has ended the server for lack of memory.
	full, ended atomic.Bool
	// ctx ends the clients, and group waits for their end.
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
	// others are the clients of readers.
	others []*side.Client
}

// newFleet returns a fleet without nodes. The caller must call stop.
func newFleet(ctx context.Context, server *side.Server, settings Settings) (*fleet, error) {
	f := &fleet{settings: settings, server: server, record: &recorder{}, tally: newTally()}
	f.lags = newLags(f.record.late)
	f.record.begin()
	var err error
	if f.admin, err = server.Client(side.Administrator()); err != nil {
		return nil, err
	}
	f.ctx, f.cancel = context.WithCancel(ctx)
	return f, nil
}

// stop ends the clients and waits for their end.
func (f *fleet) stop() {
	f.cancel()
	f.group.Wait()
	for _, n := range f.nodes {
		if n != nil {
			n.client.Close()
		}
	}
	for _, client := range append(f.others, f.admin) {
		client.Close()
	}
}

// requestLimit is the longest time of a request for a single object. It is that of the servers.
const requestLimit = time.Minute

// do sends a request for a single object and counts it.
func (f *fleet) do(ctx context.Context, client *side.Client, k kind, r side.Request) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	started := time.Now()
	answer, err := client.Do(limited, r)
	if ctx.Err() != nil {
		return nil, ctx.Err() // the client ended, and not the server
	}
	f.record.request(k, time.Since(started), 0, err)
	if err == nil && r.Method != http.MethodGet {
		f.lags.wrote(revisionOf(answer), started)
	}
	return answer, err
}

// revisionOf returns the resource version of an object.
func revisionOf(answer []byte) string {
	at := bytes.Index(answer, []byte(`"metadata":{`))
	if at < 0 {
		return ""
	}
	return valueOf(answer[at:], "resourceVersion")
}

// tries is how often a client sends a request that fails.
const tries = 8

// settled returns no error if the server answered with a code which says that an earlier try has done the work, though its answer was lost.
func settled(err error, code int) error {
	if isCode(err, code) {
		return nil
	}
	return err
}

// again sends a request until it succeeds or the server answers that it never will, at most tries times. Each failure counts.
func (f *fleet) again(ctx context.Context, client *side.Client, k kind, r side.Request) error {
	wait := 100 * time.Millisecond
	for n := 1; ; n++ {
		_, err := f.do(ctx, client, k, r)
		if err == nil || ctx.Err() != nil || n == tries || isCode(err, http.StatusNotFound) || isCode(err, http.StatusConflict) {
			return err
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait *= 2
	}
}

// isCode reports whether the server answered with a status code.
func isCode(err error, code int) bool {
	var refused *side.StatusError
	return errors.As(err, &refused) && refused.Code == code
}

// watchMemory sets full when the machine has too little memory left, until the context ends. If a quarter of that is left, it ends the
// server: the kernel would end any program of the machine.
func (f *fleet) watchMemory(ctx context.Context) {
	for pause(ctx, 100*time.Millisecond) == nil {
		left, err := side.AvailableMemory()
		if err != nil || left>>20 >= f.settings.Spare {
			continue
		}
		f.full.Store(true)
		if left>>20 < f.settings.Spare/4 && !f.ended.Swap(true) {
			f.server.Kill()
			f.cancel()
		}
	}
}

// read starts the readers.
func (f *fleet) read() error {
	for i := range f.settings.Readers {
		client, err := f.server.Client(side.User{Name: "reader", Groups: []string{"system:masters"}})
		if err != nil {
			return err
		}
		f.others = append(f.others, client)
		streams := []*stream{
			{client: client, path: "/api/v1/pods?", resource: "all pods"},
			{client: client, path: "/api/v1/nodes?", resource: "all nodes"},
		}
		if i == 0 {
			streams[0].see = f.tally.see
			streams = append(streams, &stream{client: client, path: "/apis/coordination.k8s.io/v1/leases?", resource: "all leases"})
		}
		for _, s := range streams {
			f.group.Go(func() { f.follow(f.ctx, s) })
		}
	}
	return nil
}

// awaitWatches waits until at least a number of watches are open.
func (f *fleet) awaitWatches(ctx context.Context, want int64) error {
	for f.watches.Load() < want {
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
