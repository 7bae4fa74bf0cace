// Package etcd is the way to etcd: a member inside the process, with its data on
// disk and no port, or a cluster outside. Either gives one client that the storage
// of all resources shares.
//
//	member, err := etcd.Start(dir)
//	client := member.Client()
//	objects, destroy, err := client.Storage(config, newFunc, newListFunc, "/pods")
//
// A member's writes are synced to disk before they are acknowledged, so a killed
// process loses none. A Member is safe for concurrent use; Close it once, after its
// client.
package etcd

import (
	"fmt"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"
)

const (
	// A single member elects itself; short ticks only make it ready sooner.
	tickMs     = 10
	electionMs = 100
	// Entries kept in memory for followers, of which there are none.
	snapshotEvery  = 2000
	catchUpEntries = 100
	// Enough for a control plane's lifetime of objects; etcd's default is 2 GiB.
	quotaBytes = 8 << 30

	startTimeout = 30 * time.Second
	// closeTimeout bounds the shutdown: what was acknowledged is on disk already.
	closeTimeout = 800 * time.Millisecond
)

// Member is a running etcd member.
type Member struct {
	etcd *embed.Etcd
	stop chan struct{}
}

// Start opens or creates the member whose data lies in dir and waits until it
// serves. The error of a directory that etcd cannot read names the directory;
// nothing in it is repaired or removed.
func Start(dir string) (*Member, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	log := newLog()
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = "holdfast", dir
	cfg.ListenPeerUrls, cfg.ListenClientUrls = nil, nil
	cfg.TickMs, cfg.ElectionMs = tickMs, electionMs
	cfg.SnapshotCount, cfg.SnapshotCatchUpEntries = snapshotEvery, catchUpEntries
	cfg.QuotaBackendBytes = quotaBytes
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log.logger())

	server, err := open(cfg, log)
	if err != nil {
		return nil, fmt.Errorf("open etcd data in %s: %w", dir, err)
	}
	log.started()
	m := &Member{etcd: server, stop: make(chan struct{})}
	go m.compact()
	return m, nil
}

// open starts etcd and waits until it serves. On data that it cannot read etcd
// does not return an error but panics, or ends the process by way of its log.
func open(cfg *embed.Config, log *log) (*embed.Etcd, error) {
	type opened struct {
		server *embed.Etcd
		err    error
	}
	done := make(chan opened, 1)
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				done <- opened{err: fmt.Errorf("%v", cause)}
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

// endpoint names the member where a name is asked for. It is no address.
const endpoint = "in-process"

// Client calls the member directly: no connection, nothing is encoded. What it
// reads is shared with the member and not to be changed, as storage of Kubernetes
// does not.
func (m *Member) Client() *Client {
	shared := v3client.New(m.etcd.Server)
	watches := adapter.WatchServerToWatchClient(v3rpc.NewWatchServer(m.etcd.Server))
	return newClient(shared, []string{endpoint}, func() clientv3.Watcher {
		return clientv3.NewWatchFromWatchClient(watches, shared)
	})
}

// Close ends the member. What it acknowledged is on disk already.
func (m *Member) Close() {
	close(m.stop)
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.etcd.Close()
	}()
	select {
	case <-done:
	case <-time.After(closeTimeout):
	}
}
