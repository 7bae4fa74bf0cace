package garbage

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/connection/inprocess"
	"holdfast.dev/holdfast/internal/reconcile"
	"holdfast.dev/holdfast/internal/stored"
)

const (
	// workers is the number of objects that are collected at the same time.
	workers = 32
	// listTimeout is how long the workers wait until all kinds are listed. After that,
	// they start even if some kinds cannot be listed.
	listTimeout = 5 * time.Second

	// An object that is not done is retried after firstRetry, then after twice as long
	// each time, up to lastRetry.
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// Config configures the garbage collector.
type Config struct {
	// Metadata reads, patches and deletes objects of every kind, with the permissions of
	// an administrator.
	Metadata metadata.Interface
	// Discovery reads the kinds of the server.
	Discovery discovery.DiscoveryInterfaceWithContext
	// Stored reads custom resources where they are stored, also those of a kind that was
	// removed. If it is nil, the collector watches all kinds through the API. Then foreground and
	// orphan deletion wait for kinds that the API cannot list, and an object stays if its owner
	// has a kind that was removed before a watch reported the deletion of the owner.
	Stored Stored
	// InProcess returns objects without requests, if the API server runs in this process. The collector
	// does not change them. If it is nil, the collector watches built-in kinds through the API.
	InProcess inprocess.Source
	// StorageVersion returns the storage versions of custom resources. It may be nil.
	StorageVersion StorageVersion
	// Events writes the Events about kept dependents. If it is nil, there are none.
	Events corev1client.EventsGetter
	// Replaced has the records of replaced objects. If it is nil, the dependents of replaced objects are deleted.
	Replaced Replaced
	// KeepRecords is how long the record of a replaced object stays at least. Zero means an hour.
	KeepRecords time.Duration
	// Counter counts the objects in namespaces. It may be nil.
	Counter Counter
}

// collector is the garbage collector.
type collector struct {
	config Config
	graph  *graph
	loop   *reconcile.Loop[types.UID]
	kinds  kinds
	stored *stored.Watches[metav1.PartialObjectMetadata]

	// known are the kinds that discovery returned last. Only watchKinds uses it.
	known       []*kind
	definitions *definitions
	// discovered is closed after the first successful discovery.
	discovered     chan struct{}
	discoveredOnce sync.Once

	monitorsMu sync.Mutex
	monitors   map[*kind]*monitor
}

// Run collects garbage until ctx ends. When it returns, all goroutines that it started
// have ended. Only one process of a cluster may run it at a time.
func Run(ctx context.Context, config Config) {
	c := &collector{
		config:      config,
		kinds:       kinds{waiting: map[types.UID]struct{}{}, removed: map[schema.GroupKind]*kind{}},
		definitions: newDefinitions(),
		stored:      stored.New("garbage", everywhere{config.Stored}),
		discovered:  make(chan struct{}),
		monitors:    map[*kind]*monitor{},
	}
	if config.Counter == nil {
		c.config.Counter = noCounter{}
	}
	c.loop = reconcile.New(reconcile.Config[types.UID]{
		Reconcile: c.reconcile, Log: logRetry, Workers: workers, FirstRetry: firstRetry, LastRetry: lastRetry,
	})
	c.graph = newGraph(c.loop.Add, c.config.Counter)
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		c.watchKinds(ctx)
		// The contexts of the monitors have ended with ctx.
		for _, m := range c.monitors {
			m.stopWatch()
		}
		c.stored.Wait()
	})
	// An owner that a watch has seen need not be read from the server. So start the
	// workers after all objects are listed.
	c.waitListed(ctx, listTimeout)
	running.Go(func() { c.removeRecords(ctx) })
	c.loop.Run(ctx)
}

func (c *collector) reconcile(ctx context.Context, uid types.UID) (reconcile.Result, error) {
	return reconcile.Result{}, c.collect(ctx, uid)
}

func logRetry(_ context.Context, uid types.UID, err error) {
	klog.ErrorS(err, "object is not handled, will be tried again", "controller", "garbage", "uid", uid)
}
