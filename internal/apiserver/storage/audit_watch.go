package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"

	"holdfast.dev/holdfast/internal/apiserver/cacheaudit"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
)

// cachePage is how many objects of a watch cache are compared with one revision of etcd. The page shares the objects with the cache.
const cachePage = 1000

// watchCache compares a watch cache with etcd, page by page. Each page is what the cache has at one revision, and etcd is read at that
// revision. So a write is in both or in none, and a page takes too little time for etcd to remove the revision.
type watchCache struct {
	resource schema.GroupResource
	cached   *cacher.Cacher
	fill     *fill
	client   *etcd.Client
	// prefix is that of the keys in the cache. In etcd, they begin with KeyPrefix.
	prefix  string
	keyOf   func(runtime.Object) (string, error)
	newList func() runtime.Object
	stored  plainObjects
	// limit is how many objects a page has at most.
	limit  int64
	closed atomic.Bool
}

var _ cacheaudit.Cache = &watchCache{}

// Name implements cacheaudit.Cache.
func (c *watchCache) Name() string { return "watch" }

// Drop implements cacheaudit.Cache. The cache reads all objects again, and the watches of clients end.
func (c *watchCache) Drop() { c.fill.again() }

// Compare implements cacheaudit.Cache.
func (c *watchCache) Compare(ctx context.Context, pass *cacheaudit.Pass) error {
	after := ""
	for {
		found, err := c.compareAfter(ctx, pass, after)
		if err == nil && len(found.wrong) > 0 {
			found, err = c.confirm(ctx, pass, after, found.wrong)
		}
		if c.closed.Load() {
			return nil // the server has closed the cache
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.resource, err)
		}
		for range found.same {
			pass.Same()
		}
		for range found.skipped {
			pass.Skip()
		}
		for _, key := range found.wrong {
			pass.Differ(c.keyInLog(key))
		}
		if found.complete {
			return nil
		}
		after = found.last
	}
}

// confirm compares a page again at a newer revision. Only the keys that differ again are wrong: one transaction may write two objects, and
// a cache that has the first one already has its revision.
func (c *watchCache) confirm(ctx context.Context, pass *cacheaudit.Pass, after string, before []string) (findings, error) {
	found, err := c.compareAfter(ctx, pass, after)
	suspected := make(map[string]bool, len(before))
	for _, key := range before {
		suspected[key] = true
	}
	again := found.wrong
	found.wrong = nil
	for _, key := range again {
		if suspected[key] {
			found.wrong = append(found.wrong, key)
		}
	}
	return found, err
}

// compareAfter compares the page of the cache after a key.
func (c *watchCache) compareAfter(ctx context.Context, pass *cacheaudit.Pass, after string) (findings, error) {
	cached, err := c.page(ctx, after)
	if err != nil {
		return findings{}, err
	}
	return c.compare(ctx, pass, cached)
}

// page is a part of a watch cache at one revision: all objects after a key, up to the last one of the page.
type page struct {
	after    string
	items    []item
	revision int64
	// complete says that there are no objects after the page.
	complete bool
}

type item struct {
	key    string
	object runtime.Object
}

// page returns the page after a key, empty for the first page. It waits until the cache has all writes up to now.
func (c *watchCache) page(ctx context.Context, after string) (page, error) {
	options := storage.ListOptions{Recursive: true, Predicate: storage.Everything}
	options.Predicate.Limit = c.limit
	if after != "" {
		// The negative revision asks for the newest state.
		var err error
		if options.Predicate.Continue, err = storage.EncodeContinue(after+"\x00", c.prefix+"/", -1); err != nil {
			return page{}, err
		}
	}
	list := c.newList()
	if err := c.cached.GetList(ctx, c.prefix, options, list); err != nil {
		return page{}, err
	}
	listed, err := meta.ListAccessor(list)
	if err != nil {
		return page{}, err
	}
	revision, err := storage.APIObjectVersioner{}.ParseResourceVersion(listed.GetResourceVersion())
	if err != nil {
		return page{}, err
	}
	out := page{after: after, revision: int64(revision), complete: listed.GetContinue() == ""} //nolint:gosec // a revision of etcd
	err = meta.EachListItem(list, func(obj runtime.Object) error {
		key, err := c.keyOf(obj)
		out.items = append(out.items, item{key, obj})
		return err
	})
	return out, err
}

// findings are what a comparison of a page has found.
type findings struct {
	same, skipped int
	// wrong are the keys of objects that differ, or that only the cache or only etcd has.
	wrong []string
	// last is the last key that was compared, and complete says that there are no others.
	last     string
	complete bool
}

// compare compares a page with etcd. It reads few objects at a time. If etcd removes the revision meanwhile, the findings end before, and the
// next page begins there.
func (c *watchCache) compare(ctx context.Context, pass *cacheaudit.Pass, cached page) (findings, error) {
	found, left := findings{last: cached.after}, cached.items
	part := etcd.Range{Prefix: KeyPrefix + c.prefix + "/", Limit: scanPage, Revision: cached.revision}
	if cached.after != "" {
		part.After = KeyPrefix + cached.after
	}
	for {
		read, err := c.client.Page(ctx, part)
		if errors.Is(err, rpctypes.ErrCompacted) && found.last != cached.after {
			return found, nil
		}
		if err != nil {
			return found, err
		}
		for _, pair := range read.Pairs {
			key := strings.TrimPrefix(pair.Key, KeyPrefix)
			if !cached.complete && (len(cached.items) == 0 || key > cached.items[len(cached.items)-1].key) {
				found.end(left, cached)
				return found, nil
			}
			left = found.before(key, left)
			found.last = key
			if len(left) == 0 || left[0].key != key {
				found.wrong = append(found.wrong, key) // the cache does not have it
				continue
			}
			c.judge(ctx, &found, left[0], pair)
			left = left[1:]
		}
		if len(read.Pairs) < part.Limit {
			found.end(left, cached)
			return found, nil
		}
		part.After = read.Pairs[len(read.Pairs)-1].Key
		if err := pass.Rest(ctx); err != nil {
			return found, err
		}
	}
}

// judge compares an object of the cache with its pair in etcd.
func (c *watchCache) judge(ctx context.Context, found *findings, cached item, pair etcd.Pair) {
	version, err := storage.APIObjectVersioner{}.ObjectResourceVersion(cached.object)
	same, known := false, true
	if err == nil && int64(version) == pair.Revision { //nolint:gosec // a revision of etcd
		same, known = c.stored.same(ctx, cached.object, pair)
	}
	switch {
	case !known:
		found.skipped++
	case same:
		found.same++
	default:
		found.wrong = append(found.wrong, cached.key)
	}
}

// before takes the items before a key of etcd, which only the cache has.
func (f *findings) before(key string, left []item) []item {
	for len(left) > 0 && left[0].key < key {
		f.wrong = append(f.wrong, left[0].key)
		left = left[1:]
	}
	return left
}

// end takes the items after the last key of etcd in the page.
func (f *findings) end(left []item, cached page) {
	for _, only := range left {
		f.wrong = append(f.wrong, only.key)
	}
	if len(cached.items) > 0 {
		f.last = cached.items[len(cached.items)-1].key
	}
	f.complete = cached.complete
}
