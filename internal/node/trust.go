package node

import (
	"context"
	"errors"
	"sync"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/projection"
)

// trustWatcher watches the ClusterTrustBundles of the cluster with one watch, while pods of the node
// use any.
type trustWatcher struct {
	agent *Agent

	mu sync.Mutex
	// ctx is the context of the agent; nil before start.
	ctx     context.Context
	running *sync.WaitGroup
	// pods are the pods that use bundles. stop ends the watch; it is nil while there is none.
	pods map[cache.ObjectName]bool
	stop context.CancelFunc
	// store holds the bundles. It is nil before the first list.
	store cache.Store
	// absent is true if the server does not have the kind.
	absent bool
}

var (
	errNoTrustBundles = errors.New("the server has no ClusterTrustBundles (certificates.k8s.io/v1)")
	errTrustNotRead   = errors.New("the ClusterTrustBundles of the cluster are not read yet")
)

// start allows watches until ctx ends. Their goroutines are added to running.
func (w *trustWatcher) start(ctx context.Context, running *sync.WaitGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx, w.running = ctx, running
}

// setUse records whether a pod uses bundles. It opens the watch for the first pod that uses any, and
// closes it when no pod uses any.
func (w *trustWatcher) setUse(pod cache.ObjectName, uses podUses) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !uses.trustBundles {
		delete(w.pods, pod)
		if len(w.pods) == 0 && w.stop != nil {
			w.stop()
			w.stop, w.store, w.absent = nil, nil, false
		}
		return
	}
	if w.pods == nil {
		w.pods = map[cache.ObjectName]bool{}
	}
	w.pods[pod] = true
	if w.stop != nil || w.ctx == nil || w.ctx.Err() != nil {
		return
	}
	ctx, stop := context.WithCancel(w.ctx)
	w.stop = stop
	store := &trustStore{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), changed: func(s cache.Store) { w.changed(ctx, s) }}
	reflector := cache.NewReflectorWithOptions(w.listWatch(), &certificatesv1.ClusterTrustBundle{}, store,
		cache.ReflectorOptions{Name: "clustertrustbundles"})
	w.running.Go(func() { reflector.RunWithContext(withoutLog(ctx)) })
}

// changed is called after each change of the bundles. It enqueues all pods that use any.
func (w *trustWatcher) changed(ctx context.Context, store cache.Store) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	w.store, w.absent = store, false
	w.enqueue()
}

// enqueue enqueues the pods that use bundles. The caller holds the lock.
func (w *trustWatcher) enqueue() {
	for pod := range w.pods {
		w.agent.loop.Add(pod)
	}
}

// bundles returns all bundles of the cluster.
func (w *trustWatcher) bundles() ([]projection.TrustBundle, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.absent:
		return nil, errNoTrustBundles
	case w.store == nil:
		return nil, errTrustNotRead
	}
	var all []projection.TrustBundle
	for _, obj := range w.store.List() {
		if bundle, ok := obj.(*certificatesv1.ClusterTrustBundle); ok {
			all = append(all, projection.TrustBundle{
				Name: bundle.Name, Signer: bundle.Spec.SignerName, Labels: bundle.Labels, PEM: bundle.Spec.TrustBundle,
			})
		}
	}
	return all, nil
}

func (w *trustWatcher) listWatch() cache.ListerWatcher {
	bundles := w.agent.Client.CertificatesV1().ClusterTrustBundles()
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := bundles.List(waitForServer(ctx), o)
			return list, w.failed(ctx, err)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			opened, err := bundles.Watch(waitForServer(ctx), o)
			return w.agent.watches.count(opened, w.failed(ctx, err))
		},
	}
}

// failed records that the server does not have the kind, logs any other error, and returns it.
func (w *trustWatcher) failed(ctx context.Context, err error) error {
	if !apierrors.IsNotFound(err) {
		return logWatchError(ctx, "clustertrustbundle", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() == nil && !w.absent {
		w.absent = true
		w.enqueue()
	}
	return err
}

// trustStore is a store that reports each change. The first report follows the first list.
type trustStore struct {
	cache.Store
	changed func(cache.Store)
}

// Add implements cache.ReflectorStore.
func (s *trustStore) Add(obj any) error { return s.report(s.Store.Add(obj)) }

// Update implements cache.ReflectorStore.
func (s *trustStore) Update(obj any) error { return s.report(s.Store.Update(obj)) }

// Delete implements cache.ReflectorStore.
func (s *trustStore) Delete(obj any) error { return s.report(s.Store.Delete(obj)) }

// Replace implements cache.ReflectorStore.
func (s *trustStore) Replace(list []any, version string) error {
	return s.report(s.Store.Replace(list, version))
}

func (s *trustStore) report(err error) error {
	s.changed(s.Store)
	return err
}
