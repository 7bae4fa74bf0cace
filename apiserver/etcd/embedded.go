// Package etcd runs an etcd member inside the process, with its data on disk
// and no port: clients reach it through an in-memory connection.
//
//	member, err := etcd.Start(dir)
//	conn, err := member.Dial(ctx, "tcp", member.Endpoint())
//
// Writes are synced to disk before they are acknowledged, so a killed process
// loses none. A Member is safe for concurrent use; Close it once.
package etcd

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"
)

const (
	// A single member elects itself; short ticks only make it ready sooner.
	tickMs     = 10
	electionMs = 100
	// One connection per resource type: small buffers keep them cheap.
	pipeBytes = 16 << 10
	// Entries kept in memory for followers, of which there are none.
	snapshotEvery  = 2000
	catchUpEntries = 100
	// Enough for a control plane's lifetime of objects; etcd's default is 2 GiB.
	quotaBytes = 8 << 30

	startTimeout = 30 * time.Second
	// closeTimeout bounds the shutdown: what was acknowledged is on disk already.
	closeTimeout = 800 * time.Millisecond
)

// pings are what clients may send. Theirs come every 30 seconds; left to
// itself gRPC would take that for an attack and cut every connection off.
var pings = keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}

// Member is a running etcd member.
type Member struct {
	etcd     *embed.Etcd
	listener *bufconn.Listener
	grpc     *grpc.Server
	stop     chan struct{}
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
	m := &Member{
		etcd:     server,
		listener: bufconn.Listen(pipeBytes),
		grpc:     v3rpc.Server(server.Server, nil, nil, grpc.KeepaliveEnforcementPolicy(pings)),
		stop:     make(chan struct{}),
	}
	go func() { _ = m.grpc.Serve(m.listener) }()
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

// Endpoint is the address that Dial answers to. It names no host.
func (m *Member) Endpoint() string { return "http://holdfast.etcd:2379" }

// Dial connects to the member, whatever the address.
func (m *Member) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return m.listener.DialContext(ctx)
}

// Close ends the member. What it acknowledged is on disk already.
func (m *Member) Close() {
	close(m.stop)
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.grpc.Stop()
		_ = m.listener.Close()
		m.etcd.Close()
	}()
	select {
	case <-done:
	case <-time.After(closeTimeout):
	}
}
