package storage

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
)

// scanPage is how many objects a scan reads at a time. etcd stores objects of at most 1.5 MB by default, so a page has at most 64 MB.
const scanPage = 40

// keyPage is how many keys a scan reads at a time that only needs the objects written after a revision. A page of keys of 300 bytes has 300 KB.
const keyPage = 1000

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

// Part names stored objects.
type Part struct {
	Resource schema.GroupResource
	// Namespace is the one of the objects, empty for all.
	Namespace string
	// After leaves out the objects that were not written after this revision.
	After int64
	// Snapshot reads all objects at one revision of the store. A read that takes long may then fail, because etcd has removed the revision.
	Snapshot bool
}

// Prefix returns the prefix of the keys of the objects.
func (p Part) Prefix() string {
	if p.Namespace == "" {
		return storedUnder(p.Resource)
	}
	return storedUnder(p.Resource) + p.Namespace + "/"
}

// Scan calls a function for every stored object of a resource that was written after a revision, see Visit.
func (r Readable) Scan(ctx context.Context, resource schema.GroupResource, after int64, visit func(Stored) error) (int64, error) {
	return r.Visit(ctx, Part{Resource: resource, After: after}, visit)
}

// Visit calls a function for every object of a part, until the function returns an error. It reads etcd in pages, each at its newest
// revision unless the part is a snapshot, and returns the revision of the first page: an object that was written later may be missing.
func (r Readable) Visit(ctx context.Context, part Part, visit func(Stored) error) (int64, error) {
	pages, under := etcd.Range{Prefix: part.Prefix(), Limit: scanPage}, storedUnder(part.Resource)
	if part.After > 0 && !part.Snapshot {
		// Most objects were written before, so that etcd need not send them.
		pages.KeysOnly, pages.Limit = true, keyPage
	}
	var first int64
	for {
		page, err := r.Client.Page(ctx, pages)
		if err != nil {
			return first, err
		}
		if first == 0 {
			first = page.Revision
		}
		if part.Snapshot {
			pages.Revision = first
		}
		for _, pair := range page.Pairs {
			pages.After = pair.Key
			if pair.Revision <= part.After {
				continue
			}
			stored, err := r.read(ctx, part.Resource, newStored(under, pair), pair)
			if err != nil {
				return first, err
			}
			if stored == nil {
				continue // it was deleted after the page was read
			}
			if err := visit(*stored); err != nil {
				return first, err
			}
		}
		if len(page.Pairs) < pages.Limit {
			return first, nil
		}
	}
}

// read decrypts the object of a pair, and reads it if the pair has no value. It returns nil if the object was deleted meanwhile.
func (r Readable) read(ctx context.Context, resource schema.GroupResource, stored Stored, pair etcd.Pair) (*Stored, error) {
	if pair.Value == nil {
		return r.Reread(ctx, resource, stored)
	}
	var err error
	stored.Text, stored.Stale, err = r.decrypt(ctx, resource, pair)
	return &stored, err
}

// newStored returns the object of a pair, without its text. The keys of its resource have a prefix.
func newStored(prefix string, pair etcd.Pair) Stored {
	stored := Stored{Name: strings.TrimPrefix(pair.Key, prefix), Revision: pair.Revision, key: pair.Key}
	if namespace, name, ok := strings.Cut(stored.Name, "/"); ok {
		stored.Namespace, stored.Name = namespace, name
	}
	return stored
}

// Change is a change of a stored custom resource.
type Change struct {
	Resource schema.GroupResource
	// Stored has no text if the object was deleted, or if Err is not nil.
	Stored
	Deleted bool
	// Err is the reason that the stored object cannot be decrypted.
	Err error
}

// Watch calls change for each change of a custom resource of an API group, in order. It
// calls begun once: all changes of the store from then on will be seen. It returns an error when
// ctx ends, or when the changes cannot be read any more.
func (r Readable) Watch(ctx context.Context, group string, begun func(), change func(Change)) error {
	prefix := KeyPrefix + "/" + group + "/"
	return r.Client.Watch(ctx, prefix, etcd.Watcher{Begun: begun, Change: func(changed etcd.Change) {
		plural, _, _ := strings.Cut(strings.TrimPrefix(changed.Key, prefix), "/")
		c := Change{Resource: schema.GroupResource{Group: group, Resource: plural}, Deleted: changed.Deleted}
		c.Stored = newStored(prefix+plural+"/", changed.Pair)
		if !changed.Deleted {
			c.Text, c.Stale, c.Err = r.decrypt(ctx, c.Resource, changed.Pair)
		}
		change(c)
	}})
}
