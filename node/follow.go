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

	"holdfast.dev/holdfast/projection"
)

// follower keeps what mutable objects are now.
type follower interface {
	// run follows until ctx ends, and returns when everything has ended.
	run(ctx context.Context)
	// synced reports whether what is followed from the start is known.
	synced() bool
	// current is an object that is followed. It is known whether it is there:
	// nil, true says that it is not.
	current(ref Ref) (object *Object, known bool)
	// follow has changes of an object reported as long as the pod needs them.
	follow(ref Ref, pod cache.ObjectName)
	// unfollow ends that.
	unfollow(ref Ref, pod cache.ObjectName)
	// sees reports whether an object is seen that appears under a name that is
	// free now. If not somebody has to look for it.
	sees() bool
}

// watching counts the watches that are open.
type watching struct {
	open atomic.Int64
}

// objects lists and watches objects of a kind.
func (w *watching) objects(client kubernetes.Interface, kind projection.Kind, scope scope) (cache.ListerWatcher, runtime.Object) {
	narrow := func(options metav1.ListOptions) metav1.ListOptions {
		options.FieldSelector = scope.selector
		return options
	}
	lw := &cache.ListWatch{}
	if kind == projection.Secret {
		secrets := client.CoreV1().Secrets(scope.namespace)
		lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := secrets.List(patiently(ctx), narrow(o))
			return list, complain(ctx, kind, err)
		}
		lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			opened, err := secrets.Watch(patiently(ctx), narrow(o))
			return w.count(opened, complain(ctx, kind, err))
		}
		return lw, &corev1.Secret{}
	}
	maps := client.CoreV1().ConfigMaps(scope.namespace)
	lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list, err := maps.List(patiently(ctx), narrow(o))
		return list, complain(ctx, kind, err)
	}
	lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		opened, err := maps.Watch(patiently(ctx), narrow(o))
		return w.count(opened, complain(ctx, kind, err))
	}
	return lw, &corev1.ConfigMap{}
}

// complain logs what is in the way of following objects and returns it. The
// reflector, which runs silently, would also log that it was told to end.
func complain(ctx context.Context, kind projection.Kind, err error) error {
	if err != nil && ctx.Err() == nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		klog.ErrorS(err, "objects are not followed; will be tried again", "kind", kind)
	}
	return err
}

// scope narrows a list or watch.
type scope struct {
	namespace, selector string
}

func (w *watching) count(opened watch.Interface, err error) (watch.Interface, error) {
	if err != nil {
		return nil, err
	}
	w.open.Add(1)
	return &counted{Interface: opened, done: sync.OnceFunc(func() { w.open.Add(-1) })}, nil
}

// counted is a watch that says when it ends: whoever has one stops it.
type counted struct {
	watch.Interface
	done func()
}

// Stop implements watch.Interface.
func (c *counted) Stop() {
	c.done()
	c.Interface.Stop()
}
