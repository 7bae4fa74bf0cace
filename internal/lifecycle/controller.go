package lifecycle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/reconcile"
)

const (
	// workers is the number of objects that one controller reconciles at the same
	// time.
	workers = 4

	// An object that is not done is retried after firstRetry, then after twice as
	// long each time, up to lastRetry.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// controller reconciles the objects of one kind.
type controller interface {
	// name returns the name of the controller in logs.
	name() string
	// watch adds event handlers to the informers of the factory. They call enqueue for
	// every object that may have to be reconciled.
	watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error
	// reconcile brings one object to its desired state. The object may be deleted already.
	// It is called again after the returned duration, if that is positive. After an
	// error it is called again with a growing delay. It is never called twice at the
	// same time for one name.
	reconcile(ctx context.Context, name cache.ObjectName) (time.Duration, error)
}

// runControllers runs every controller until ctx ends. It returns when all of them
// have stopped.
func runControllers(ctx context.Context, factory informers.SharedInformerFactory, controllers []controller) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, c := range controllers {
		loop := newLoop(c)
		running.Go(func() { loop.Run(ctx) })
		if err := c.watch(factory, loop.Add); err != nil {
			return fmt.Errorf("controller of %s: %w", c.name(), err)
		}
	}
	factory.StartWithContext(ctx)
	<-ctx.Done()
	return nil
}

func newLoop(c controller) *reconcile.Loop[cache.ObjectName] {
	return reconcile.New(reconcile.Config[cache.ObjectName]{
		Workers: workers, FirstRetry: firstRetry, LastRetry: lastRetry,
		Reconcile: func(ctx context.Context, name cache.ObjectName) (reconcile.Result, error) {
			after, err := c.reconcile(ctx, name)
			if err != nil {
				return reconcile.Result{}, err
			}
			return reconcile.Result{After: after}, nil
		},
		Log: func(_ context.Context, name cache.ObjectName, err error) {
			klog.ErrorS(err, "object is not handled, will be tried again", "controller", c.name(), "object", name)
		},
	})
}
