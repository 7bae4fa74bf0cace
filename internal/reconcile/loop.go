package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// The defaults of Config.
const (
	defaultWorkers    = 1
	defaultFirstRetry = 200 * time.Millisecond
	defaultLastRetry  = 30 * time.Second
)

// ErrNotYet is returned by Reconcile when nothing went wrong but the controller has
// to wait for something, such as a finalizer of another controller. The loop retries
// the key as after any error, and logs nothing.
var ErrNotYet = errors.New("not yet")

// Result says what the loop does after a call of Reconcile. The zero Result is for
// a key that needs no more work until it is added again.
type Result struct {
	// After, if it is positive, is the time after which the loop enqueues the key
	// again. If Reconcile also returned an error, the loop uses the shorter of After
	// and the retry delay.
	After time.Duration
	// Progressed resets the retry delay although Reconcile returned an error. Set it
	// if some of the work was done and only the rest has to wait.
	Progressed bool
}

// Config configures a Loop.
type Config[K comparable] struct {
	// Reconcile does the work for one key. The object of the key may be deleted
	// already. Reconcile must return when ctx ends. This field is required.
	Reconcile func(ctx context.Context, key K) (Result, error)
	// Log logs an error of Reconcile. The loop does not call it for ErrNotYet, for
	// conflicts, and after ctx has ended. The default logs the key and the error.
	Log func(ctx context.Context, key K, err error)

	// Workers is the number of keys that are reconciled at the same time, 1 by
	// default.
	Workers int
	// Group and WorkersPerGroup limit how many keys of one group are reconciled at the
	// same time, so that a group with many or slow keys does not hold up the others.
	// Without them there is no such limit.
	Group           func(key K) string
	WorkersPerGroup int
	// FirstRetry is the delay after the first error of a key, 200 ms by default.
	FirstRetry time.Duration
	// LastRetry is the longest delay, without Jitter. It is 30 s by default.
	LastRetry time.Duration
	// Jitter extends each retry delay by a random part of it, at most this fraction.
	// Set it where many processes would otherwise retry at the same moment. The
	// default is 0.
	Jitter float64
	// Clock measures the delays. The default is the real clock.
	Clock clock.WithTicker
}

// Loop is the work queue of one controller, with its workers. Create it with New.
// All methods may be called concurrently.
type Loop[K comparable] struct {
	config Config[K]
	groups groups[K]
	queue  workqueue.TypedRateLimitingInterface[K]
}

// New creates a loop that accepts keys at once and reconciles them after Run was
// called. The loop has a goroutine that ends with Run or ShutDown, so the caller has
// to call one of them.
func New[K comparable](config Config[K]) *Loop[K] {
	if config.Log == nil {
		config.Log = func(ctx context.Context, key K, err error) {
			klog.FromContext(ctx).Error(err, "reconcile failed, will be tried again", "key", key)
		}
	}
	if config.Workers == 0 {
		config.Workers = defaultWorkers
	}
	if config.FirstRetry == 0 {
		config.FirstRetry = defaultFirstRetry
	}
	if config.LastRetry == 0 {
		config.LastRetry = defaultLastRetry
	}
	return &Loop[K]{config: config, queue: workqueue.NewTypedRateLimitingQueueWithConfig(
		newLimiter(config), workqueue.TypedRateLimitingQueueConfig[K]{Clock: config.Clock},
	)}
}

// Add enqueues a key. After ShutDown it does nothing.
func (l *Loop[K]) Add(key K) { l.queue.Add(key) }

// Retries returns the number of errors that Reconcile returned for a key since its last
// success or progress.
func (l *Loop[K]) Retries(key K) int { return l.queue.NumRequeues(key) }

// ShutDown makes the loop drop further keys and ends its workers once the queue is
// empty. Run calls it when ctx ends. Call it yourself only for a loop that you do not
// run.
func (l *Loop[K]) ShutDown() { l.queue.ShutDown() }

// Run waits until every informer has synced and then reconciles the keys until ctx
// ends. It returns when all workers have ended. A loop runs once.
func (l *Loop[K]) Run(ctx context.Context, synced ...cache.InformerSynced) {
	var workers sync.WaitGroup
	defer workers.Wait()
	defer l.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return
	}
	for range l.config.Workers {
		workers.Go(func() {
			for l.next(ctx) {
			}
		})
	}
	<-ctx.Done()
}

// next reconciles the next key of the queue. It returns false when the queue is shut
// down and empty.
func (l *Loop[K]) next(ctx context.Context) bool {
	key, shutdown := l.queue.Get()
	if shutdown {
		return false
	}
	defer l.queue.Done(key)
	if ctx.Err() != nil || !l.enter(key) {
		return true
	}
	defer l.leave(key)
	result, err := l.config.Reconcile(ctx, key)
	if ctx.Err() != nil {
		return true
	}
	if err == nil || result.Progressed {
		l.queue.Forget(key)
	}
	if err != nil {
		// A conflict means that the informer's copy of the object was out of date.
		if !errors.Is(err, ErrNotYet) && !apierrors.IsConflict(err) {
			l.config.Log(ctx, key, err)
		}
		l.queue.AddRateLimited(key)
	}
	if result.After > 0 {
		l.queue.AddAfter(key, result.After)
	}
	return true
}
