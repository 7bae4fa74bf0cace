package node

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/access/walltime"
	"holdfast.dev/holdfast/internal/reconcile"
)

const (
	// workers is the number of pods that are reconciled at the same time, and
	// workersPerNamespace how many of them may be in one namespace. A pod with thousands of
	// missing objects takes a worker for minutes.
	workers             = 12
	workersPerNamespace = 4
	// A pod that is not done is retried after firstRetry, then after twice as long
	// each time, up to lastRetry. The jitter keeps many agents from sending their
	// retries to the server at the same moment.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
	jitter     = 0.5
)

// work watches pods and objects and syncs the volumes of all pods, until ctx ends.
func (a *Agent) work(ctx context.Context, running *sync.WaitGroup) error {
	a.loop = reconcile.New(reconcile.Config[cache.ObjectName]{
		Reconcile: a.reconcile, Log: a.logRetry,
		Workers: workers, WorkersPerGroup: workersPerNamespace, Group: func(name cache.ObjectName) string { return name.Namespace },
		FirstRetry: firstRetry, LastRetry: lastRetry, Jitter: jitter, Clock: a.Clock,
	})
	defer a.loop.ShutDown()
	if err := a.watchPods(); err != nil {
		return err
	}
	running.Go(func() { a.pods.RunWithContext(ctx) })
	if !a.detect(ctx) {
		return nil
	}
	if a.holdfast && !a.WatchEach && !a.WatchImmutable {
		a.resolver.watcher = newWatchAll(a)
	} else {
		a.resolver.watcher = &watchEach{client: a.Client, counter: &a.watches, notify: a.enqueueUsers, pins: !a.WatchImmutable}
	}
	running.Go(func() { a.resolver.watcher.run(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), a.pods.HasSynced, a.resolver.watcher.synced) {
		return nil
	}
	if err := a.sweep(); err != nil {
		return fmt.Errorf("node agent: %w", err)
	}
	running.Go(func() { walltime.Watch(ctx, func(by time.Duration) { a.syncAll(ctx, by) }) })
	a.loop.Run(ctx)
	return nil
}

// syncAll enqueues all pods after the clock was set, because their tokens may have ended.
func (a *Agent) syncAll(ctx context.Context, by time.Duration) {
	klog.FromContext(ctx).Info("the clock of this machine was set", "node", a.Name, "by", by.Round(time.Second))
	for _, obj := range a.pods.GetStore().List() {
		if pod, ok := obj.(*corev1.Pod); ok {
			a.loop.Add(cache.MetaObjectToName(pod))
		}
	}
}

// watchPods creates the informer for the pods of the node.
func (a *Agent) watchPods() error {
	selector := fields.OneTermEqualSelector("spec.nodeName", a.Name).String()
	pods := a.Client.CoreV1().Pods(metav1.NamespaceAll)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			list, err := pods.List(waitForServer(ctx), o)
			return list, a.Credential.explain(err)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			opened, err := pods.Watch(waitForServer(ctx), o)
			return a.watches.count(opened, a.Credential.explain(err))
		},
	}
	a.pods = cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{})
	enqueue := func(obj any) {
		if key, err := cache.DeletionHandlingObjectToName(obj); err == nil {
			a.loop.Add(key)
		}
	}
	if err := a.pods.SetTransform(shrink); err != nil {
		return err
	}
	_, err := a.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue,
	})
	return err
}

// shrink removes the managed fields of a pod, which the agent does not need.
func shrink(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.ManagedFields = nil
	}
	return obj, nil
}

// detect finds out whether the server is a Holdfast server, and sets a.holdfast: only a
// Holdfast server supports the field selector usedByNode. It retries until the server
// answers. It returns false if ctx ended before.
func (a *Agent) detect(ctx context.Context) bool {
	backoff := wait.Backoff{Duration: firstRetry, Factor: 2, Jitter: jitter, Steps: 10, Cap: lastRetry}
	for {
		_, err := a.Client.CoreV1().ConfigMaps(metav1.NamespaceAll).List(waitForServer(ctx), metav1.ListOptions{
			FieldSelector: usedByNode + "=" + a.Name, Limit: 1, ResourceVersion: "0",
		})
		switch {
		case err == nil:
			a.holdfast = true
			return true
		case apierrors.IsBadRequest(err):
			return true
		case apierrors.IsForbidden(err):
			// A stock API server with the node authorizer rejects any list of objects
			// before it looks at the selector. A Holdfast server can be recognized by
			// its version.
			version, versionErr := a.Client.Discovery().ServerVersion()
			if versionErr == nil && !strings.Contains(version.GitVersion, "holdfast") {
				return true
			}
		}
		if ctx.Err() != nil {
			return false
		}
		klog.FromContext(ctx).Error(a.Credential.explain(err), "the server does not let this node in, or does not answer; will be tried again", "node", a.Name)
		select {
		case <-ctx.Done():
			return false
		case <-a.Clock.After(backoff.Step()):
		}
	}
}

// reconcile brings the volumes of one pod up to date.
func (a *Agent) reconcile(ctx context.Context, name cache.ObjectName) (reconcile.Result, error) {
	result, err := a.sync(ctx, name)
	if err == nil && result.retry {
		err = reconcile.ErrNotYet
	}
	return reconcile.Result{After: result.after}, err
}

// logRetry logs why a pod is synced again.
func (a *Agent) logRetry(ctx context.Context, name cache.ObjectName, err error) {
	klog.FromContext(ctx).V(1).Info("will be tried again", "node", a.Name, "pod", name.String(), "err", err)
}
