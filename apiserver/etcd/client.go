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

// Client is the way to etcd that all resources share. Kubernetes opens a
// connection for each of them, which with hundreds of definitions is most of what
// a definition costs. It is safe for concurrent use.
type Client struct {
	shared *clientv3.Client
	// endpoints are what the client is connected to, as etcd's client says them.
	endpoints []string
	// watcher makes the watches of one resource, in a stream of their own: what
	// one resource has to wait for holds up no other.
	watcher   func() clientv3.Watcher
	compactor interface {
		etcd3.Compactor
		Stop()
	}
}

// newClient shares a client that nobody else closes.
func newClient(shared *clientv3.Client, endpoints []string, watcher func() clientv3.Watcher) *Client {
	c := &Client{shared: shared, endpoints: endpoints, watcher: watcher}
	shared.KV = etcd3.NewETCDLatencyTracker(shared.KV)
	c.compactor = etcd3.NewCompactor(shared, compactionInterval, clock.RealClock{}, func() {})
	// Lists are answered from the cache where etcd can tell how far it is.
	feature.DefaultFeatureSupportChecker.CheckClient(shared.Ctx(), c, storage.RequestWatchProgress)
	return c
}

// compactionInterval is how long etcd's history is kept at most, as in Kubernetes.
const compactionInterval = 5 * time.Minute

// Endpoints says what the client is connected to.
func (c *Client) Endpoints() []string { return c.endpoints }

// Status asks a member how it is.
func (c *Client) Status(ctx context.Context, endpoint string) (*clientv3.StatusResponse, error) {
	return c.shared.Status(ctx, endpoint)
}

// Healthy asks etcd for an answer.
func (c *Client) Healthy(ctx context.Context, prefix string) error {
	if _, err := c.shared.Get(ctx, path.Join("/", prefix, "health")); err != nil {
		return fmt.Errorf("ask etcd: %w", err)
	}
	return nil
}

// Pair is a key and what is stored under it.
type Pair struct {
	Key   string
	Value []byte
}

// Page is up to limit pairs whose keys have a prefix, in the order of their keys
// after the key that is named; an empty one is the first page. A page that is not
// full is the last.
func (c *Client) Page(ctx context.Context, prefix, after string, limit int) ([]Pair, error) {
	from := prefix
	if after != "" {
		from = after + "\x00"
	}
	found, err := c.shared.Get(ctx, from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)), clientv3.WithLimit(int64(limit)))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", prefix, err)
	}
	pairs := make([]Pair, 0, len(found.Kvs))
	for _, kv := range found.Kvs {
		pairs = append(pairs, Pair{Key: string(kv.Key), Value: kv.Value})
	}
	return pairs, nil
}

// Storage is the storage of one resource, below the prefix of the config and then
// its own. What it gives back is closed by the function beside it, which may be
// called more than once.
func (c *Client) Storage(config *storagebackend.ConfigForResource, newFunc, newListFunc func() runtime.Object, prefix string) (storage.Interface, func(), error) {
	watcher := c.watcher()
	own := clientv3.NewCtxClient(c.shared.Ctx())
	own.KV, own.Lease, own.Maintenance, own.Watcher = c.shared.KV, c.shared.Lease, c.shared.Maintenance, watcher
	client := &kubernetes.Client{Client: own}
	client.Kubernetes = client
	transformer := config.Transformer
	if transformer == nil {
		transformer = identity.NewEncryptCheckTransformer()
	}
	versioner := storage.APIObjectVersioner{}
	store, err := etcd3.New(client, c.compactor, config.Codec, newFunc, newListFunc, config.Prefix, prefix, config.GroupResource,
		transformer, config.LeaseManagerConfig, etcd3.NewDefaultDecoder(config.Codec, versioner), versioner)
	if err != nil {
		_ = watcher.Close()
		return nil, nil, err
	}
	return store, sync.OnceFunc(func() {
		store.Close()
		_ = watcher.Close()
	}), nil
}

// Close ends the client. Storage made from it works no more.
func (c *Client) Close() {
	c.compactor.Stop()
	_ = c.shared.Close()
}
