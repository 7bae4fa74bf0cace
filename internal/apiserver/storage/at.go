package storage

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
)

// ErrUnreadable says that a stored object cannot be read: etcd has removed the revision, or the object cannot be decrypted.
var ErrUnreadable = errors.New("the stored object cannot be read")

// At returns an object that was written at a revision. It returns nil if that revision wrote no such object, and ErrUnreadable if it cannot
// be read any more.
func (r Readable) At(ctx context.Context, resource schema.GroupResource, namespace, name string, revision int64) (*Stored, error) {
	prefix := Part{Resource: resource, Namespace: namespace}.Prefix()
	// The last state of an object stays, even if etcd has removed the revision.
	for _, at := range []int64{0, revision} {
		// The key of the object is the first one that begins with it.
		page, err := r.Client.Page(ctx, etcd.Range{Prefix: prefix + name, Limit: 1, Revision: at})
		switch {
		case errors.Is(err, rpctypes.ErrCompacted):
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		case errors.Is(err, rpctypes.ErrFutureRev):
			return nil, nil //nolint:nilnil // no object
		case err != nil:
			return nil, err
		}
		if len(page.Pairs) == 0 || page.Pairs[0].Key != prefix+name || page.Pairs[0].Revision != revision {
			continue
		}
		stored := newStored(storedUnder(resource), page.Pairs[0])
		if stored.Text, stored.Stale, err = r.decrypt(ctx, resource, page.Pairs[0]); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		return &stored, nil
	}
	return nil, nil //nolint:nilnil // no object
}
