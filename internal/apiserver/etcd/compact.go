package etcd

import (
	"context"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/failpoint"
)

const (
	// keepRevisions is the history that is kept, for watches that resume and for lists that
	// continue. Kubernetes keeps five minutes of history. Under heavy load these are
	// gigabytes, so the number of writes bounds it here as well.
	keepRevisions  = 10_000
	compactEvery   = 5 * time.Second
	compactTimeout = compactEvery
)

// maintain removes history beyond keepRevisions until the member is closed. The size of the
// database then depends on the objects in it, not on the rate of changes. If the database is
// full, maintain makes it smaller as soon as that is possible.
func (m *Member) maintain(ctx context.Context) {
	defer close(m.maintained)
	ticker := time.NewTicker(failpoint.Bound("etcd:compactEvery", compactEvery))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			m.compact(ctx)
			m.reclaim(ctx)
		}
	}
}

func (m *Member) compact(ctx context.Context) {
	kv := m.etcd.Server.KV()
	keep := failpoint.Bound("etcd:keepRevisions", int64(keepRevisions))
	target := kv.Rev() - keep
	if target <= 0 || target-kv.FirstRev() < keep/4 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, compactTimeout)
	defer cancel()
	failpoint.Reach("etcd:compact")
	_, err := m.etcd.Server.Compact(ctx, &pb.CompactionRequest{Revision: target})
	if err != nil && !errors.Is(err, mvcc.ErrCompacted) {
		// The next tick tries it again.
		klog.V(1).InfoS("compaction of etcd's history is late", "revision", target, "err", err)
	}
}
