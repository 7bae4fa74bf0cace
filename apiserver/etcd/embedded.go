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
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
)

const (
	// A single member elects itself; short ticks only make it ready sooner.
	tickMs     = 10
	electionMs = 100
	// One connection per resource type: small buffers keep them cheap.
	pipeBytes = 64 << 10
	// Entries kept in memory for followers, of which there are none.
	snapshotEvery  = 2000
	catchUpEntries = 100
	// Enough for a control plane's lifetime of objects; etcd's default is 2 GiB.
	quotaBytes = 8 << 30

	startTimeout = 30 * time.Second
	// closeTimeout bounds the shutdown: what was acknowledged is on disk already.
	closeTimeout = 2 * time.Second
)

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
func Start(dir string) (member *Member, err error) {
	// etcd ends the process or panics on data it cannot read. At start that is
	// an answer like any other.
	defer func() {
		if cause := recover(); cause != nil {
			member, err = nil, fmt.Errorf("open etcd data in %s: %v", dir, cause)
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = "holdfast", dir
	cfg.ListenPeerUrls, cfg.ListenClientUrls = nil, nil
	cfg.TickMs, cfg.ElectionMs = tickMs, electionMs
	cfg.SnapshotCount, cfg.SnapshotCatchUpEntries = snapshotEvery, catchUpEntries
	cfg.QuotaBackendBytes = quotaBytes
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger())

	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("open etcd data in %s: %w", dir, err)
	}
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		server.Close()
		return nil, fmt.Errorf("start etcd in %s: %w", dir, err)
	case <-time.After(startTimeout):
		server.Close()
		return nil, fmt.Errorf("start etcd in %s: not ready after %s", dir, startTimeout)
	}

	m := &Member{
		etcd:     server,
		listener: bufconn.Listen(pipeBytes),
		grpc:     v3rpc.Server(server.Server, nil, nil),
		stop:     make(chan struct{}),
	}
	go func() { _ = m.grpc.Serve(m.listener) }()
	go m.compact()
	return m, nil
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

// logger shows errors of etcd on stderr, without the noise of its start. Its
// fatal errors become panics, so that Start can answer with them.
func logger() *zap.Logger {
	encoder := zapcore.NewConsoleEncoder(zap.NewProductionEncoderConfig())
	core := zapcore.NewCore(encoder, zapcore.Lock(os.Stderr), zapcore.ErrorLevel)
	return zap.New(expectedCore{core}, zap.WithFatalHook(panicOnFatal{}), zap.WithPanicHook(panicOnFatal{}))
}

// expectedCore leaves out the one error that every first start logs: etcd looks
// for the version of a store whose first write is still on its way.
type expectedCore struct{ zapcore.Core }

// Check implements zapcore.Core.
func (c expectedCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if entry.Message == "failed to update storage version" {
		return checked
	}
	return c.Core.Check(entry, checked)
}

type panicOnFatal struct{}

func (panicOnFatal) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	message := entry.Message
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok {
			message += ": " + err.Error()
		}
	}
	panic(errors.New(message))
}
