package etcd

import "context"

// StartWithQuota is Start with a bound on the size of the database.
func StartWithQuota(dir string, bytes int64) (*Member, error) { return start(dir, bytes) }

// StopMaintenance ends the maintenance of a member. The test calls Reclaim instead.
func (m *Member) StopMaintenance() {
	m.stop()
	<-m.maintained
}

// Reclaim exports reclaim.
func (m *Member) Reclaim(ctx context.Context) { m.reclaim(ctx) }
