package garbage

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
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

// errNotYet is returned when nothing went wrong and there is more to wait for.
var errNotYet = errors.New("not yet")

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
	queue  workqueue.TypedRateLimitingInterface[types.UID]
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
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](firstRetry, lastRetry)
	c := &collector{
		config:     config,
		queue:      workqueue.NewTypedRateLimitingQueue(limiter),
		kinds:      kinds{parked: map[types.UID]struct{}{}},
		defined:    make(chan struct{}, 1),
		discovered: make(chan struct{}),
		monitors:   map[*kind]*monitor{},
	}
	if config.Census == nil {
		c.config.Census = nobody{}
	}
	c.graph = newGraph(c.queue.Add, c.config.Census)
	var running sync.WaitGroup
	defer running.Wait()
	defer c.queue.ShutDown()
	running.Go(func() {
		c.follow(ctx)
		// Their contexts ended with ctx.
		for _, m := range c.monitors {
			<-m.ended
		}
	})
	// An owner that was seen need not be asked for.
	c.waitListed(ctx, listLimit)
	for range workers {
		running.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
}

// next looks at the next object in the queue; false means that the queue is
// shut down.
func (c *collector) next(ctx context.Context) bool {
	uid, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(uid)
	err := c.collect(ctx, uid)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		// A conflict is the answer to a view that was a moment old.
		if !errors.Is(err, errNotYet) && !apierrors.IsConflict(err) {
			klog.ErrorS(err, "will be tried again", "controller", "garbage", "uid", uid)
		}
		c.queue.AddRateLimited(uid)
	default:
		c.queue.Forget(uid)
	}
	return true
}
