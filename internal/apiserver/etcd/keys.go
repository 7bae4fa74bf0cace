package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Pair is a key and its value.
type Pair struct {
	Key   string
	Value []byte
	// Revision is the one of the last write of the key, and Created that of the first write since it was last deleted.
	Revision, Created int64
}

// Range names a part of the keys with a prefix, sorted by key.
type Range struct {
	Prefix string
	// After is the key before the first one. If it is empty, the range starts at the beginning.
	After string
	// Limit is the highest number of keys.
	Limit int
	// Revision is the revision of the store to read. Zero means the newest.
	Revision int64
	// KeysOnly leaves out the values.
	KeysOnly bool
}

// Page holds the pairs of a Range.
type Page struct {
	Pairs []Pair
	// Revision is the revision of the store that was read.
	Revision int64
}

// Page reads the pairs of a range. A page with fewer pairs than the limit is the last one.
func (c *Client) Page(ctx context.Context, r Range) (Page, error) {
	from := r.Prefix
	if r.After != "" {
		from = r.After + "\x00"
	}
	end := clientv3.GetPrefixRangeEnd(r.Prefix)
	options := []clientv3.OpOption{clientv3.WithRange(end), clientv3.WithLimit(int64(r.Limit)), clientv3.WithRev(r.Revision)}
	if r.KeysOnly {
		options = append(options, clientv3.WithKeysOnly())
	}
	found, err := c.shared.Get(ctx, from, options...)
	if err != nil {
		return Page{}, fmt.Errorf("read %s: %w", r.Prefix, err)
	}
	page := Page{Pairs: make([]Pair, 0, len(found.Kvs)), Revision: r.Revision}
	if page.Revision == 0 {
		page.Revision = found.Header.Revision
	}
	for _, kv := range found.Kvs {
		page.Pairs = append(page.Pairs, Pair{Key: string(kv.Key), Value: kv.Value, Revision: kv.ModRevision, Created: kv.CreateRevision})
	}
	return page, nil
}

// Keys returns the keys with a prefix, sorted.
func (c *Client) Keys(ctx context.Context, prefix string) ([]string, error) {
	found, err := c.shared.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", prefix, err)
	}
	keys := make([]string, 0, len(found.Kvs))
	for _, kv := range found.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys, nil
}

// firstsOfOneRequest is how many pairs Firsts reads with one request. etcd allows 128.
const firstsOfOneRequest = 64

// Firsts returns the first pair with each of the prefixes, nil if there is none.
func (c *Client) Firsts(ctx context.Context, prefixes []string) ([]*Pair, error) {
	firsts := make([]*Pair, 0, len(prefixes))
	for some := range slices.Chunk(prefixes, firstsOfOneRequest) {
		reads := make([]clientv3.Op, 0, len(some))
		for _, prefix := range some {
			reads = append(reads, clientv3.OpGet(prefix, clientv3.WithPrefix(), clientv3.WithLimit(1)))
		}
		found, err := c.read(ctx, reads)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", some[0], err)
		}
		for _, response := range found.Responses {
			var first *Pair
			for _, kv := range response.GetResponseRange().Kvs {
				first = &Pair{Key: string(kv.Key), Value: kv.Value, Revision: kv.ModRevision, Created: kv.CreateRevision}
			}
			firsts = append(firsts, first)
		}
	}
	return firsts, nil
}

// read sends several reads as one transaction. A member that was just cut off from the others does not answer in time; read then sends the transaction to
// another one. The library does that for a single read, and for no transaction, because a transaction could write.
func (c *Client) read(ctx context.Context, reads []clientv3.Op) (*clientv3.TxnResponse, error) {
	for asked := 1; ; asked++ {
		found, err := c.shared.Txn(ctx).Then(reads...).Commit()
		if !isUnavailable(err) || asked >= len(c.endpoints) || ctx.Err() != nil {
			return found, err
		}
	}
}

// Add stores a pair if its key does not exist. It reports whether it stored the pair.
func (c *Client) Add(ctx context.Context, pair Pair) (bool, error) {
	absent := clientv3.Compare(clientv3.CreateRevision(pair.Key), "=", 0)
	answer, err := c.shared.Txn(ctx).If(absent).Then(clientv3.OpPut(pair.Key, string(pair.Value))).Commit()
	if err != nil {
		return false, fmt.Errorf("write %s: %w", pair.Key, err)
	}
	return answer.Succeeded, nil
}

// Remove removes the keys of some spans, in one transaction.
func (c *Client) Remove(ctx context.Context, spans ...Span) error {
	removals := make([]clientv3.Op, 0, len(spans))
	for _, span := range spans {
		removals = append(removals, clientv3.OpDelete(span.First, clientv3.WithRange(span.End)))
	}
	if _, err := c.shared.Txn(ctx).Then(removals...).Commit(); err != nil {
		return fmt.Errorf("remove %s: %w", spans[0].First, err)
	}
	return nil
}

// Created returns the revisions that created some keys, zero for a key that does not exist.
func (c *Client) Created(ctx context.Context, keys []string) ([]int64, error) {
	revisions := make([]int64, 0, len(keys))
	for some := range slices.Chunk(keys, firstsOfOneRequest) {
		reads := make([]clientv3.Op, 0, len(some))
		for _, key := range some {
			reads = append(reads, clientv3.OpGet(key, clientv3.WithKeysOnly()))
		}
		found, err := c.read(ctx, reads)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", some[0], err)
		}
		for _, response := range found.Responses {
			var created int64
			for _, kv := range response.GetResponseRange().Kvs {
				created = kv.CreateRevision
			}
			revisions = append(revisions, created)
		}
	}
	return revisions, nil
}

// Change is a write of a key, or its deletion, which has no value.
type Change struct {
	Pair
	Deleted bool
}

// Watcher is called by Watch, by one goroutine.
type Watcher struct {
	// Begun is called once: every change of the store from then on will be seen.
	Begun func()
	// Change is called for each change, in order.
	Change func(Change)
}

// Watch calls a watcher for the changes of keys with a prefix, until ctx ends or the changes
// cannot be read any more. The error is never nil.
func (c *Client) Watch(ctx context.Context, prefix string, w Watcher) error {
	stream := c.watcher()
	defer func() { _ = stream.Close() }()
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for response := range stream.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify()) {
		if err := response.Err(); err != nil {
			return fmt.Errorf("watch %s: %w", prefix, err)
		}
		if response.Created {
			w.Begun()
		}
		for _, event := range response.Events {
			w.Change(Change{
				Pair:    Pair{Key: string(event.Kv.Key), Value: event.Kv.Value, Revision: event.Kv.ModRevision, Created: event.Kv.CreateRevision},
				Deleted: event.Type == clientv3.EventTypeDelete,
			})
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("watch %s: %w", prefix, errEnded)
}

var errEnded = errors.New("etcd ended the watch")
