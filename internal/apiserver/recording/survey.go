package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/failpoint"
)

const (
	// surveyEvery is the time between two surveys, if this server writes little.
	surveyEvery = time.Hour
	// surveyShare is the part of the bound over all records that this server writes before it makes the next survey.
	surveyShare = 16
	// expireEvery is the time between two looks for records to remove.
	expireEvery = 30 * time.Second
)

// Run removes what exceeds the bound over all records, what the server has kept long enough after a deletion, and what belongs to no
// object, until ctx ends. Every server does this; it does no harm if several do it at the same time.
func (r *Recorder) Run(ctx context.Context) {
	if err := r.key.refresh(ctx, r); err != nil {
		klog.ErrorS(err, "history cannot have the values of Secrets")
	}
	expiries := time.NewTicker(expireEvery)
	defer expiries.Stop()
	for next := time.Duration(0); ; {
		if err := r.Expire(ctx, time.Now()); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "the history of deleted objects is kept")
		}
		survey := time.NewTimer(next)
		for due := false; !due; {
			select {
			case <-ctx.Done():
				survey.Stop()
				return
			case <-expiries.C:
				if err := r.Expire(ctx, time.Now()); err != nil && ctx.Err() == nil {
					klog.ErrorS(err, "the history of deleted objects is kept")
				}
			case <-survey.C:
				due = true
			case <-r.surveys:
				due = true
			}
		}
		survey.Stop()
		next = wait.Jitter(surveyEvery, 1)
		if err := r.Survey(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "history is not bounded")
			next = time.Minute
		}
	}
}

// grow counts bytes that this server has added, and asks for a survey after many.
func (r *Recorder) grow(bytes int) {
	r.bytes.Add(int64(bytes))
	if grown := r.grown.Add(int64(bytes)); r.TotalBytes > 0 && grown > r.TotalBytes/surveyShare {
		select {
		case r.surveys <- struct{}{}:
		default:
		}
	}
}

// Expire removes the records of objects that were deleted long enough ago.
func (r *Recorder) Expire(ctx context.Context, now time.Time) error {
	for {
		read, err := r.Client.Page(ctx, etcd.Range{Prefix: expiryPrefix, Limit: page})
		if err != nil {
			return err
		}
		for _, pair := range read.Pairs {
			deleted, err := deletionTime(pair.Key)
			if err != nil {
				return err
			}
			if now.Before(deleted.Add(r.AfterDelete)) {
				return nil // the later ones were deleted later
			}
			if err := r.Client.Remove(ctx, etcd.WithPrefix(string(pair.Value)), etcd.Span{First: pair.Key, End: pair.Key + "\x00"}); err != nil {
				return err
			}
		}
		if len(read.Pairs) < page {
			return nil
		}
	}
}

// surveyed is a record that a survey has found.
type surveyed struct {
	// record is the prefix of its keys.
	record  string
	uid     types.UID
	entries []surveyedEntry
	// expiry is the key that names the record of a deleted object, and is empty for others.
	expiry string
}

type surveyedEntry struct {
	number, created int64
	size            int
}

// sizeOf is the number of bytes of a pair: a key may be larger than its entry.
func sizeOf(pair etcd.Pair) int { return len(pair.Key) + len(pair.Value) }

// Survey counts the records. It removes those of objects that do not exist, and then the oldest entries until the bound over all records
// is kept.
func (r *Recorder) Survey(ctx context.Context) error {
	r.grown.Store(0)
	kept, err := r.keptRecords(ctx)
	if err != nil {
		return err
	}
	var all []surveyed
	part := etcd.Range{Prefix: Prefix, Limit: page}
	for {
		read, err := r.Client.Page(ctx, part)
		if err != nil {
			return err
		}
		for _, pair := range read.Pairs {
			part.After = pair.Key
			uid, number, err := parseKey(pair.Key)
			if err != nil {
				return err
			}
			record := pair.Key[:strings.LastIndexByte(pair.Key, '/')+1]
			if len(all) == 0 || all[len(all)-1].record != record {
				all = append(all, surveyed{record: record, uid: uid, expiry: kept[record]})
			}
			last := &all[len(all)-1]
			last.entries = append(last.entries, surveyedEntry{number, pair.Created, sizeOf(pair)})
		}
		if len(read.Pairs) < page {
			break
		}
	}
	if all, err = r.removeOrphans(ctx, all); err != nil {
		return err
	}
	if err := failpoint.Fail("recording:bound"); err != nil {
		return err
	}
	if len(all) > 0 {
		r.used.Store(true)
	}
	sum, err := r.bound(ctx, all)
	r.bytes.Store(int64(sum))
	return err
}

// keptRecords returns the records of deleted objects that the server keeps for a while, with the keys that name them.
func (r *Recorder) keptRecords(ctx context.Context) (map[string]string, error) {
	pairs, err := r.pairs(ctx, expiryPrefix)
	kept := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		kept[string(pair.Value)] = pair.Key
	}
	return kept, err
}

// removeOrphans removes the records of objects that do not exist: a server of an earlier release may have deleted them. It returns the
// other records.
func (r *Recorder) removeOrphans(ctx context.Context, all []surveyed) (others []surveyed, err error) {
	for of := range slices.Chunk(all, page) {
		keys := make([]string, 0, len(of))
		for _, one := range of {
			keys = append(keys, objectKey(one.record))
		}
		created, err := r.Client.Created(ctx, keys)
		if err != nil {
			return nil, err
		}
		for i, one := range of {
			// The entries of an object are not older than its key, unless the object was deleted and created again.
			newest := one.entries[len(one.entries)-1]
			if exists := created[i] > 0 && created[i] <= newest.created; exists || one.expiry != "" {
				others = append(others, one)
				continue
			}
			if err := r.Client.Remove(ctx, etcd.WithPrefix(one.record)); err != nil {
				return nil, err
			}
		}
	}
	return others, nil
}

// objectKey returns the key of the object that a record belongs to.
func objectKey(record string) string {
	parts := strings.Split(strings.TrimPrefix(record, Prefix), "/")
	part := storage.Part{Resource: schema.ParseGroupResource(parts[0]), Namespace: parts[1]}
	if part.Namespace == clusterScoped {
		part.Namespace = ""
	}
	return part.Prefix() + parts[2]
}

// Reencrypt encrypts the entries of a resource with the current key. It is part of a migration of the stored objects.
func (r *Recorder) Reencrypt(ctx context.Context, resource schema.GroupResource) error {
	if resource == secrets {
		if err := r.key.refresh(ctx, r); err != nil {
			return err
		}
	}
	part := etcd.Range{Prefix: Prefix + resource.String() + "/", Limit: page}
	for {
		read, err := r.Client.Page(ctx, part)
		if err != nil {
			return err
		}
		for _, pair := range read.Pairs {
			part.After = pair.Key
			if _, stale, err := r.transformer(resource).TransformFromStorage(ctx, pair.Value, value.DefaultContext(pair.Key)); err != nil {
				return fmt.Errorf("decrypt %s: %w", pair.Key, err)
			} else if !stale {
				continue
			}
			if err := r.rewrite(ctx, resource, pair); err != nil {
				return err
			}
		}
		if len(read.Pairs) < page {
			return nil
		}
	}
}

// rewrite encrypts a pair with the current key. If the pair was removed meanwhile, it does nothing.
func (r *Recorder) rewrite(ctx context.Context, resource schema.GroupResource, pair etcd.Pair) error {
	transformer, at := r.transformer(resource), value.DefaultContext(pair.Key)
	text, _, err := transformer.TransformFromStorage(ctx, pair.Value, at)
	if err != nil {
		return fmt.Errorf("decrypt %s: %w", pair.Key, err)
	}
	sealed, err := transformer.TransformToStorage(ctx, text, at)
	if err != nil {
		return fmt.Errorf("encrypt %s: %w", pair.Key, err)
	}
	if _, err := r.Client.Replace(ctx, pair, sealed); err != nil {
		return errors.Join(fmt.Errorf("write %s", pair.Key), err)
	}
	return nil
}
