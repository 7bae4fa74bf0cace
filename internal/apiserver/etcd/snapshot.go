package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// revisionBump is added to the revision of restored data. It must be more than the number of revisions
// between the snapshot and the end of the old data, because clients may remember these revisions.
const revisionBump = 1_000_000_000

// Snapshot returns a consistent copy of all data: a database file of etcd, followed by its SHA-256 digest.
// It has every write that was acknowledged before the call. The caller closes it.
func (c *Client) Snapshot(ctx context.Context) (io.ReadCloser, error) {
	var errs []error
	for _, endpoint := range c.endpoints {
		copied, err := c.snapshotOf(ctx, endpoint)
		if err == nil {
			return copied, nil
		}
		errs = append(errs, fmt.Errorf("snapshot of etcd %s: %w", endpoint, err))
	}
	return nil, errors.Join(errs...)
}

// snapshotOf returns the copy of one member. A member that is behind the others would return old data, so a
// read comes first: the member answers it when it has all acknowledged writes.
func (c *Client) snapshotOf(ctx context.Context, endpoint string) (io.ReadCloser, error) {
	member, disconnect, err := c.connect(endpoint)
	if err != nil {
		return nil, err
	}
	read, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if _, err := member.Get(read, "/health"); err != nil {
		disconnect()
		return nil, err
	}
	copied, err := member.Snapshot(ctx)
	if err != nil {
		disconnect()
		return nil, err
	}
	return closing{copied, disconnect}, nil
}

// closing is a reader that calls a function when it is closed.
type closing struct {
	io.ReadCloser
	then func()
}

func (c closing) Close() error {
	defer c.then()
	return c.ReadCloser.Close()
}

// Restore writes the data of a member from a snapshot to dir, which must be empty or not exist. Objects keep
// their resourceVersions. The revision of the store is higher than any that the old data had, and
// everything before it counts as compacted. So a client that watches from an old resourceVersion lists
// again, and no resourceVersion is used twice.
func Restore(snapshotFile, dir string) error {
	cfg := newConfig(dir)
	peers := make([]string, 0, len(cfg.AdvertisePeerUrls))
	for _, url := range cfg.AdvertisePeerUrls {
		peers = append(peers, url.String())
	}
	return snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: snapshotFile, Name: cfg.Name, OutputDataDir: dir,
		PeerURLs: peers, InitialCluster: cfg.InitialCluster, InitialClusterToken: cfg.InitialClusterToken,
		RevisionBump: revisionBump, MarkCompacted: true,
	})
}
