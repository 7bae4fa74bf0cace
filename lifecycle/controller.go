package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	// workers reconcile objects of one controller at the same time.
	workers = 4

	// An object that is not done is looked at again after firstRetry, then after
	// twice as long each time.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// errNotYet is returned by reconcile when nothing went wrong and there is more
// to wait for.
var errNotYet = errors.New("not yet")

// controller keeps one promise about the objects in the cluster.
type controller interface {
	// name is what logs call it.
	name() string
	// watch has enqueue called for every object that may need work.
	watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error
	// reconcile does what is missing for one object, which may be gone. It is
	// called again after the duration, if there is one, and after an error with
	// a growing delay; never twice at a time for one name.
	reconcile(ctx context.Context, name cache.ObjectName) (time.Duration, error)
}

// runControllers runs every controller until ctx ends and all of them stopped.
func runControllers(ctx context.Context, factory informers.SharedInformerFactory, controllers []controller) error {
	var running sync.WaitGroup
	defer running.Wait() // runs last: every queue is shut down before
	for _, c := range controllers {
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](firstRetry, lastRetry)
		queue := workqueue.NewTypedRateLimitingQueue(limiter)
		defer queue.ShutDown()
		if err := c.watch(factory, queue.Add); err != nil {
			return fmt.Errorf("controller of %s: %w", c.name(), err)
		}
		for range workers {
			running.Go(func() {
				for next(ctx, c, queue) {
				}
			})
		}
	}
	factory.StartWithContext(ctx)
	<-ctx.Done()
	return nil
}

// next reconciles the next object in the queue; false means that the queue is
// shut down.
func next(ctx context.Context, c controller, queue workqueue.TypedRateLimitingInterface[cache.ObjectName]) bool {
	name, shutdown := queue.Get()
	if shutdown {
		return false
	}
	defer queue.Done(name)
	after, err := c.reconcile(ctx, name)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		// A conflict is the answer to a view that was a moment old.
		if !errors.Is(err, errNotYet) && !apierrors.IsConflict(err) {
			klog.ErrorS(err, "will be tried again", "controller", c.name(), "object", name)
		}
		queue.AddRateLimited(name)
	default:
		queue.Forget(name)
		if after > 0 {
			queue.AddAfter(name, after)
		}
	}
	return true
}
