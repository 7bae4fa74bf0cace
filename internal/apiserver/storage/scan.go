package storage

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
)

// scanPage is how many objects a scan reads at a time. etcd stores objects of at most 1.5 MB by default, so a page has at most 64 MB.
const scanPage = 40

// Stored is a stored object.
type Stored struct {
	// Namespace is empty for an object without one.
	Namespace, Name string
	// Text is the object as it is encoded, in the version in which it was stored.
	Text []byte
	// Revision is that of its last write.
	Revision int64
	// Stale says that the server would encrypt the object in another way now, such as with another key.
	Stale bool
	// key is the one in etcd.
	key string
}

// FullName returns the name of an object, after its namespace if it has one.
func (s Stored) FullName() string {
	if s.Namespace == "" {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

// Scan calls a function for every stored object of a resource that was written after a revision, until the function returns an
// error. It reads etcd in pages, each at its newest revision, and returns the revision of the first page: an object that was written
// later may be missing.
func (r Readable) Scan(ctx context.Context, resource schema.GroupResource, after int64, visit func(Stored) error) (int64, error) {
	part := etcd.Range{Prefix: storedUnder(resource), Limit: scanPage}
	var first int64
	for {
		page, err := r.Client.Page(ctx, part)
		if err != nil {
			return first, err
		}
		if first == 0 {
			first = page.Revision
		}
		for _, pair := range page.Pairs {
			part.After = pair.Key
			if pair.Revision <= after {
				continue
			}
			stored := Stored{Name: strings.TrimPrefix(pair.Key, part.Prefix), Revision: pair.Revision, key: pair.Key}
			if namespace, name, ok := strings.Cut(stored.Name, "/"); ok {
				stored.Namespace, stored.Name = namespace, name
			}
			if stored.Text, stored.Stale, err = r.decrypt(ctx, resource, pair); err != nil {
				return first, err
			}
			if err := visit(stored); err != nil {
				return first, err
			}
		}
		if len(page.Pairs) < scanPage {
			return first, nil
		}
	}
}
