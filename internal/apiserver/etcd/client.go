package etcd

import (
	"context"
	"fmt"
	"path"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/feature"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/utils/clock"
)

// Client is the etcd client that the storage of all resources shares. Kubernetes opens a
// connection for each resource. With hundreds of definitions these connections would need
// most of the memory. A Client is safe for concurrent use.
type Client struct {
	shared *clientv3.Client
	// endpoints are the URLs of the members, or a name for the member in the process.
	endpoints []string
	// watcher creates the watch stream of one resource. Each resource has its own stream,
	// so that a slow watch of one resource does not delay the others.
	watcher func() clientv3.Watcher
	// connect returns a client of one member, and a function that closes it.
	connect   func(endpoint string) (*clientv3.Client, func(), error)
	compactor interface {
		etcd3.Compactor
		Stop()
	}
}

// newClient takes over a client, which Close closes.
func newClient(shared *clientv3.Client, endpoints []string, watcher func() clientv3.Watcher) *Client {
	c := &Client{shared: shared, endpoints: endpoints, watcher: watcher}
	c.connect = func(string) (*clientv3.Client, func(), error) { return shared, func() {}, nil }
	shared.KV = etcd3.NewETCDLatencyTracker(shared.KV)
	c.compactor = etcd3.NewCompactor(shared, compactionInterval, clock.RealClock{}, func() {})
	// The watch cache answers consistent lists only if etcd supports progress requests.
	feature.DefaultFeatureSupportChecker.CheckClient(shared.Ctx(), c, storage.RequestWatchProgress)
	return c
}

// compactionInterval is the interval of compactions, as in Kubernetes. A compaction removes
// the history before the previous compaction. A Member also compacts by the number of
// revisions, see keepRevisions.
const compactionInterval = 5 * time.Minute

// Endpoints returns the URLs of the members.
func (c *Client) Endpoints() []string { return c.endpoints }

// Status returns the status of a member.
func (c *Client) Status(ctx context.Context, endpoint string) (*clientv3.StatusResponse, error) {
	return c.shared.Status(ctx, endpoint)
}

// Healthy returns an error if etcd does not answer a read.
func (c *Client) Healthy(ctx context.Context, prefix string) error {
	if _, err := c.shared.Get(ctx, path.Join("/", prefix, "health")); err != nil {
		return fmt.Errorf("ask etcd: %w", err)
	}
	return nil
}

// Storage opens the storage of one resource. Its keys begin with the prefix of the config,
// followed by prefix. Its errors tell a client of the API what an outage of etcd means for the
// request. The returned function closes the storage; it may be called more than once.
func (c *Client) Storage(
	config *storagebackend.ConfigForResource, newFunc, newListFunc func() runtime.Object, prefix string,
) (storage.Interface, func(), error) {
	return c.ReplaceableStorage(config, newFunc, newListFunc, prefix, nil)
}

// ReplaceableStorage is Storage, and calls a function for each write that replaces an object by another one, before a watch of the
// storage has the event. The function must not block. It may be nil.
func (c *Client) ReplaceableStorage(
	config *storagebackend.ConfigForResource, newFunc, newListFunc func() runtime.Object, prefix string, replaced func(Replaced),
) (storage.Interface, func(), error) {
	watcher := c.watcher()
	own := clientv3.NewCtxClient(c.shared.Ctx())
	own.KV, own.Lease, own.Maintenance, own.Watcher = c.shared.KV, c.shared.Lease, c.shared.Maintenance, watcher
	client := &kubernetes.Client{Client: own}
	client.Kubernetes = fencedClient{client, own.KV}
	transformer := config.Transformer
	if transformer == nil {
		transformer = identity.NewEncryptCheckTransformer()
	}
	if replaced != nil {
		own.Watcher = replacedWatcher{watcher, transformer, replaced}
	}
	versioner := storage.APIObjectVersioner{}
	store, err := etcd3.New(client, c.compactor, config.Codec, newFunc, newListFunc, config.Prefix, prefix,
		config.GroupResource, transformer, config.LeaseManagerConfig, etcd3.NewDefaultDecoder(config.Codec, versioner), versioner)
	if err != nil {
		_ = watcher.Close()
		return nil, nil, err
	}
	return outageStorage{store, config.GroupResource}, sync.OnceFunc(func() {
		store.Close()
		_ = watcher.Close()
	}), nil
}

// Close closes the client. Its storages do not work afterwards.
func (c *Client) Close() {
	c.compactor.Stop()
	_ = c.shared.Close()
}
