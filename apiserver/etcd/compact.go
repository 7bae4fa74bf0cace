package etcd

import (
	"context"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"k8s.io/klog/v2"
)

const (
	// keepRevisions is the history kept for watches that resume and lists that
	// continue. Kubernetes keeps five minutes of it; under a heavy load that is
	// gigabytes, so here the number of writes bounds it as well.
	keepRevisions = 10_000
	compactEvery  = 5 * time.Second
)

// compact forgets history beyond keepRevisions, so that the size of the
// database follows the objects in it and not the rate at which they change.
func (m *Member) compact() {
	ticker := time.NewTicker(compactEvery)
	defer ticker.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-ticker.C:
			m.compactOnce()
		}
	}
}

func (m *Member) compactOnce() {
	kv := m.etcd.Server.KV()
	target := kv.Rev() - keepRevisions
	if target <= 0 || target-kv.FirstRev() < keepRevisions/4 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), compactEvery)
	defer cancel()
	_, err := m.etcd.Server.Compact(ctx, &pb.CompactionRequest{Revision: target})
	if err != nil && !errors.Is(err, mvcc.ErrCompacted) {
		// What is late is made up for at the next tick.
		klog.V(1).InfoS("compaction of etcd's history is late", "revision", target, "err", err)
	}
}
