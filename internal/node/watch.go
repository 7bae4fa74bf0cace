package node

import (
	"context"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/projection"
)

// objectWatcher watches mutable objects and keeps their current versions. There are
// two implementations: watchAll and watchEach.
type objectWatcher interface {
	// run watches until ctx ends, and returns when all its goroutines have ended.
	run(ctx context.Context)
	// synced reports whether the first lists are complete.
	synced() bool
	// current returns the current version of an object. A nil object with known true
	// means that the object does not exist; known false means that the watcher cannot
	// tell.
	current(ref Ref) (object *Object, known bool)
	// watch watches an object for a pod. The pod is enqueued when the object changes.
	watch(ref Ref, pod cache.ObjectName)
	// unwatch stops watching an object for a pod.
	unwatch(ref Ref, pod cache.ObjectName)
	// seesNewObjects reports whether the watcher sees that a missing object is
	// created. Otherwise the agent has to retry pods that need such an object.
	seesNewObjects() bool
}

// watchCounter counts open watches.
type watchCounter struct {
	open atomic.Int64
}

// listWatch returns a ListerWatcher for the objects of a kind within a scope, and an
// empty object of that kind.
func (w *watchCounter) listWatch(client kubernetes.Interface, kind projection.Kind, scope scope) (cache.ListerWatcher, runtime.Object) {
	narrow := func(options metav1.ListOptions) metav1.ListOptions {
		options.FieldSelector = scope.selector
		return options
	}
	lw := &cache.ListWatch{}
	if kind == projection.Secret {
		secrets := client.CoreV1().Secrets(scope.namespace)
		lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := secrets.List(waitForServer(ctx), narrow(o))
			return list, logWatchError(ctx, kind, err)
		}
		lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			opened, err := secrets.Watch(waitForServer(ctx), narrow(o))
			return w.count(opened, logWatchError(ctx, kind, err))
		}
		return lw, &corev1.Secret{}
	}
	maps := client.CoreV1().ConfigMaps(scope.namespace)
	lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list, err := maps.List(waitForServer(ctx), narrow(o))
		return list, logWatchError(ctx, kind, err)
	}
	lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		opened, err := maps.Watch(waitForServer(ctx), narrow(o))
		return w.count(opened, logWatchError(ctx, kind, err))
	}
	return lw, &corev1.ConfigMap{}
}

// logWatchError logs the error of a list or watch and returns it. It replaces the log
// of the reflector, which would also log the end of the context.
func logWatchError(ctx context.Context, kind projection.Kind, err error) error {
	if err != nil && ctx.Err() == nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		klog.ErrorS(err, "objects are not followed; will be tried again", "kind", kind)
	}
	return err
}

// scope is the namespace and the field selector of a list or watch.
type scope struct {
	namespace, selector string
}

// count counts a watch as open until it is stopped.
func (w *watchCounter) count(opened watch.Interface, err error) (watch.Interface, error) {
	if err != nil {
		return nil, err
	}
	w.open.Add(1)
	return &countedWatch{Interface: opened, done: sync.OnceFunc(func() { w.open.Add(-1) })}, nil
}

// countedWatch is a watch that calls done when it is stopped. Reflectors stop every
// watch that they open.
type countedWatch struct {
	watch.Interface
	done func()
}

// Stop implements watch.Interface.
func (c *countedWatch) Stop() {
	c.done()
	c.Interface.Stop()
}
