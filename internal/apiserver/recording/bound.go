package recording

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
)

// bound removes entries if the sum of all records exceeds the bound, until an eighth of the bound is free. It returns the sum that remains.
//
// The namespaces with the largest sums lose entries, so that a client that writes much in one namespace does not remove the history of the
// others. Within a namespace the oldest entries go first. The newest entry of an object that exists stays, because it has the number of the
// next one; if it is large, it loses its changes.
func (r *Recorder) bound(ctx context.Context, all []surveyed) (sum int, err error) {
	shares := map[string]*share{}
	for _, one := range all {
		name := namespaceOf(one.record)
		if shares[name] == nil {
			shares[name] = &share{}
		}
		shares[name].add(one)
		sum += one.size()
	}
	if int64(sum) <= r.TotalBytes {
		return sum, nil
	}
	level := fairLevel(slices.Collect(maps.Values(shares)), int(r.TotalBytes-r.TotalBytes/8))
	dropped := 0
	for _, s := range shares {
		surplus := s.sum - level
		if surplus <= 0 {
			continue
		}
		freed, count, err := r.trim(ctx, s.records, surplus)
		sum, dropped = sum-freed, dropped+count
		if err == nil && freed < surplus {
			freed, err = r.shorten(ctx, s.records, surplus-freed)
			sum -= freed
		}
		if err != nil {
			return sum, err
		}
	}
	r.metrics.dropped.Add(float64(dropped))
	return sum, nil
}

// share is the records of one namespace.
type share struct {
	sum     int
	records []surveyed
}

func (s *share) add(one surveyed) {
	s.sum += one.size()
	s.records = append(s.records, one)
}

// size is the number of bytes of a record.
func (s surveyed) size() int {
	sum := 0
	if s.expiry != "" {
		sum = len(s.expiry) + len(s.record)
	}
	for _, entry := range s.entries {
		sum += entry.size
	}
	return sum
}

// namespaceOf returns the namespace in the prefix of the keys of a record.
func namespaceOf(record string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(record, Prefix), "/")
	namespace, _, _ := strings.Cut(rest, "/")
	return namespace
}

// resourceOf returns the resource in the prefix of the keys of a record.
func resourceOf(record string) schema.GroupResource {
	resource, _, _ := strings.Cut(strings.TrimPrefix(record, Prefix), "/")
	return schema.ParseGroupResource(resource)
}

// fairLevel returns the largest sum that a namespace may have so that all sums together are not more than a bound.
func fairLevel(shares []*share, bound int) int {
	slices.SortFunc(shares, func(a, b *share) int { return a.sum - b.sum })
	for i, s := range shares {
		if level := bound / (len(shares) - i); s.sum > level {
			return level
		}
		bound -= s.sum
	}
	return bound
}

// trim removes the oldest entries of records until a number of bytes is free. A record of a deleted object may go as a whole.
func (r *Recorder) trim(ctx context.Context, records []surveyed, surplus int) (freed, count int, err error) {
	type removable struct {
		surveyedEntry
		at int
	}
	var oldest []removable
	for i, one := range records {
		stays := 1
		if one.expiry != "" {
			stays = 0
		}
		for _, entry := range one.entries[:len(one.entries)-stays] {
			oldest = append(oldest, removable{entry, i})
		}
	}
	slices.SortFunc(oldest, func(a, b removable) int { return int(a.created - b.created) })
	ends := map[int]int64{}
	for _, entry := range oldest {
		if freed >= surplus {
			break
		}
		freed += entry.size
		// A record has its entries in the order of their revisions, except two of one transaction.
		ends[entry.at] = max(ends[entry.at], entry.number+1)
		count++
	}
	for at, end := range ends {
		one := records[at]
		spans := []etcd.Span{{First: one.record, End: entryKey(one.record, end)}}
		if last := one.entries[len(one.entries)-1]; last.number < end {
			spans = []etcd.Span{etcd.WithPrefix(one.record), {First: one.expiry, End: one.expiry + "\x00"}}
			freed += len(one.expiry) + len(one.record)
		}
		if err := r.Client.Remove(ctx, spans...); err != nil {
			return freed, count, err
		}
		// The next write reads the sizes again.
		r.states.Remove(one.uid)
	}
	return freed, count, nil
}

// shortened is the size of a newest entry from which shorten removes its changes.
const shortened = 2 << 10

// shorten removes the changes of the large newest entries of records until a number of bytes is free. The numbers and the writers stay.
func (r *Recorder) shorten(ctx context.Context, records []surveyed, surplus int) (freed int, err error) {
	for _, one := range records {
		last := one.entries[len(one.entries)-1]
		if freed >= surplus {
			return freed, nil
		}
		if last.size < shortened || one.expiry != "" {
			continue
		}
		found, err := r.Client.Firsts(ctx, []string{entryKey(one.record, last.number)})
		if err != nil {
			return freed, err
		}
		if found[0] == nil || found[0].Created != last.created {
			continue
		}
		less, err := r.withoutChanges(ctx, resourceOf(one.record), *found[0])
		if err != nil {
			return freed, err
		}
		if less == nil {
			continue
		}
		replaced, err := r.Client.Replace(ctx, *found[0], less)
		if err != nil {
			return freed, err
		}
		if replaced {
			freed += len(found[0].Value) - len(less)
			r.states.Remove(one.uid)
		}
	}
	return freed, nil
}

// withoutChanges returns the value of an entry without its changes, nil if the entry cannot be read or has none.
func (r *Recorder) withoutChanges(ctx context.Context, resource schema.GroupResource, pair etcd.Pair) ([]byte, error) {
	entry, err := r.decode(ctx, resource, pair)
	if err != nil || len(entry.Changes) == 0 {
		// The key of its encryption may be gone.
		return nil, nil //nolint:nilerr // the entry stays as it is
	}
	entry.Changes, entry.Truncated = nil, true
	text, err := json.Marshal(entry.Entry)
	if err != nil {
		return nil, err
	}
	return r.transformer(resource).TransformToStorage(ctx, encode(text, entry.after), value.DefaultContext(pair.Key))
}
