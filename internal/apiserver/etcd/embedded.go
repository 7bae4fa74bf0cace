// Package etcd connects the server to its storage. Start runs an etcd member inside the
// process, with its data on disk and without a port. Connect connects to a cluster outside.
// Both give one Client, which the storage of all resources shares.
//
//	member, err := etcd.Start(dir)
//	client := member.Client()
//	objects, destroy, err := client.Storage(config, newFunc, newListFunc, "/pods")
//
// A member syncs each write to disk before it acknowledges it. A process that is killed
// therefore loses no acknowledged write. A Member is safe for concurrent use. Close it once,
// after its client.
package etcd

import (
	"context"
	"fmt"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"

	"holdfast.dev/holdfast/internal/failpoint"
)

const (
	// A single member elects itself, so a short election timeout makes it ready sooner. A tick wakes two goroutines, also of an idle
	// server, and etcd requires at least five of them for an election.
	tickMs     = 20
	electionMs = 100
	// etcd keeps entries in memory for its followers. A single member has none. It keeps 100 entries
	// in any case, which may be objects of more than a megabyte.
	snapshotEvery  = 2000
	catchUpEntries = 1
	// quotaBytes bounds the size of the database. The default of etcd is 2 GiB.
	quotaBytes = 8 << 30
	// txnOps bounds the operations of a transaction. A Fence may have a span for each kind. The default of etcd is 128.
	txnOps = 4096

	startTimeout = 30 * time.Second
	// closeTimeout bounds the shutdown. All acknowledged writes are on disk already.
	closeTimeout = 800 * time.Millisecond
)

// Member is a running etcd member.
type Member struct {
	etcd *embed.Etcd
	// stop ends maintain, which then closes maintained.
	stop       context.CancelFunc
	maintained chan struct{}
	// quota bounds the size of the database. full is nil while there is room; only maintain uses it.
	quota int64
	full  *fullDatabase
}

// Start opens the member with its data in dir, or creates it, and waits until it is ready.
// If etcd cannot read the data, the error names the directory. Start does not repair or
// remove anything in it. etcd itself may truncate the damaged end of its log, as after a
// crash, and keeps a copy.
func Start(dir string) (*Member, error) {
	return start(dir, failpoint.Bound("etcd:quota", int64(quotaBytes)))
}

// start is Start with a bound on the size of the database.
func start(dir string, quota int64) (*Member, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	log := newLog()
	cfg := newConfig(dir)
	cfg.QuotaBackendBytes = quota
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log.logger())

	server, err := open(cfg, log)
	if err != nil {
		return nil, fmt.Errorf("open etcd data in %s: %w: %s", dir, err, startAdvice(err))
	}
	log.started()
	ctx, stop := context.WithCancel(context.Background())
	m := &Member{etcd: server, stop: stop, maintained: make(chan struct{}), quota: quota}
	go m.maintain(ctx)
	return m, nil
}

// newConfig returns the settings of the member with its data in dir.
func newConfig(dir string) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = "holdfast", dir
	cfg.ListenPeerUrls, cfg.ListenClientUrls = nil, nil
	cfg.TickMs, cfg.ElectionMs = tickMs, electionMs
	cfg.SnapshotCount, cfg.SnapshotCatchUpEntries = snapshotEvery, catchUpEntries
	cfg.MaxTxnOps = txnOps
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	return cfg
}

// open starts etcd and waits until it is ready. If etcd cannot read its data, it does not
// return an error: it panics, or its logger ends the process. open turns both into an error.
func open(cfg *embed.Config, log *log) (*embed.Etcd, error) {
	type opened struct {
		server *embed.Etcd
		err    error
	}
	done := make(chan opened, 1)
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				done <- opened{err: panicked(cause)}
			}
		}()
		server, err := embed.StartEtcd(cfg)
		if err == nil {
			<-server.Server.ReadyNotify()
		}
		done <- opened{server, err}
	}()
	select {
	case o := <-done:
		return o.server, o.err
	case err := <-log.fatal:
		return nil, err
	case <-time.After(startTimeout):
		return nil, fmt.Errorf("not ready after %s", startTimeout)
	}
}

// panicked returns the cause of a panic as an error.
func panicked(cause any) error {
	if err, ok := cause.(error); ok {
		return err
	}
	return fmt.Errorf("%v", cause)
}

// InProcess is the name of a Member in Client.Endpoints. It is not an address.
const InProcess = "in-process"

// Client returns a client that calls the member directly, without a connection and without
// encoding. Values that it reads are shared with the member and must not be changed; the
// storage of Kubernetes does not change them.
func (m *Member) Client() *Client {
	shared := v3client.New(m.etcd.Server)
	watches := adapter.WatchServerToWatchClient(v3rpc.NewWatchServer(m.etcd.Server))
	return newClient(shared, []string{InProcess}, func() clientv3.Watcher {
		return clientv3.NewWatchFromWatchClient(watches, shared)
	})
}

// Close stops the member. It returns after closeTimeout at the latest.
func (m *Member) Close() {
	m.stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		// A defragmentation after the end would open the database again.
		<-m.maintained
		m.etcd.Close()
	}()
	select {
	case <-done:
	case <-time.After(closeTimeout):
	}
}
