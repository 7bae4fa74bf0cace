package garbage

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/reconcile"
)

const (
	// workers look at objects at the same time.
	workers = 32
	// listLimit is how long work waits for kinds that cannot be listed.
	listLimit = 10 * time.Second

	// An object that is not done is looked at again after firstRetry, then after
	// twice as long each time.
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// Config says how the server is reached.
type Config struct {
	// Metadata reads, changes and deletes objects of every kind, with the rights
	// of an administrator.
	Metadata metadata.Interface
	// Discovery tells which kinds there are.
	Discovery discovery.DiscoveryInterfaceWithContext
	// Census is told of every object in a namespace; nil is nobody.
	Census Census
}

// collector is one run of the garbage collection.
type collector struct {
	config Config
	graph  *graph
	loop   *reconcile.Loop[types.UID]
	kinds  kinds

	// known are the kinds of the last look at discovery; only follow uses it.
	known      []*kind
	defined    chan struct{}
	refreshed  sync.Once
	discovered chan struct{}

	monitorsMu sync.Mutex
	monitors   map[*kind]*monitor
}

// Run collects garbage until ctx ends. When it returns, everything it started
// has ended. Only one may run in a cluster.
func Run(ctx context.Context, config Config) {
	c := &collector{
		config:     config,
		kinds:      kinds{parked: map[types.UID]struct{}{}},
		defined:    make(chan struct{}, 1),
		discovered: make(chan struct{}),
		monitors:   map[*kind]*monitor{},
	}
	if config.Census == nil {
		c.config.Census = nobody{}
	}
	c.loop = reconcile.New(reconcile.Config[types.UID]{
		Reconcile: c.reconcile, Log: logRetry, Workers: workers, FirstRetry: firstRetry, LastRetry: lastRetry,
	})
	c.graph = newGraph(c.loop.Add, c.config.Census)
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		c.follow(ctx)
		// Their contexts ended with ctx.
		for _, m := range c.monitors {
			<-m.ended
		}
	})
	// An owner that was seen need not be asked for.
	c.waitListed(ctx, listLimit)
	c.loop.Run(ctx)
}

func (c *collector) reconcile(ctx context.Context, uid types.UID) (reconcile.Result, error) {
	return reconcile.Result{}, c.collect(ctx, uid)
}

func logRetry(_ context.Context, uid types.UID, err error) {
	klog.ErrorS(err, "will be tried again", "controller", "garbage", "uid", uid)
}
