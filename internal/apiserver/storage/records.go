package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/replacement"
)

// withRecord returns a context in which the storage writes the record of a swap in the transaction that writes the new object.
func withRecord(ctx context.Context, swap *replacement.Swap, created runtime.Object) (context.Context, error) {
	object, err := meta.Accessor(created)
	if err != nil {
		return ctx, err
	}
	record := swap.Record(object, time.Now())
	if record == nil {
		return ctx, nil
	}
	value, err := json.Marshal(record)
	if err != nil {
		return ctx, fmt.Errorf("record of a replacement: %w", err)
	}
	beside := &etcd.Beside{Puts: []etcd.Pair{{Key: recordKey(record.Old), Value: value}}}
	return etcd.WithPlan(ctx, func(context.Context, bool) (*etcd.Beside, error) { return beside, nil }), nil
}

func recordKey(old types.UID) string { return ReplacedPrefix + string(old) }

// Records are the records of replaced objects whose dependents are kept.
type Records struct{ Client *etcd.Client }

// Find returns the record of a replaced object. It is nil if there is none: the object was not replaced, or its dependents are deleted.
func (r Records) Find(ctx context.Context, old types.UID) (*replacement.Record, error) {
	found, err := r.Client.Firsts(ctx, []string{recordKey(old)})
	if err != nil || found[0] == nil || found[0].Key != recordKey(old) {
		return nil, err
	}
	return decodeRecord(*found[0])
}

// List returns all records.
func (r Records) List(ctx context.Context) ([]replacement.Record, error) {
	var all []replacement.Record
	part := etcd.Range{Prefix: ReplacedPrefix, Limit: readPage}
	for {
		page, err := r.Client.Page(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, pair := range page.Pairs {
			part.After = pair.Key
			record, err := decodeRecord(pair)
			if err != nil {
				return nil, err
			}
			all = append(all, *record)
		}
		if len(page.Pairs) < part.Limit {
			return all, nil
		}
	}
}

// Remove removes the record of a replaced object.
func (r Records) Remove(ctx context.Context, old types.UID) error {
	key := recordKey(old)
	return r.Client.Remove(ctx, etcd.Span{First: key, End: key + "\x00"})
}

func decodeRecord(pair etcd.Pair) (*replacement.Record, error) {
	record := &replacement.Record{}
	if err := json.Unmarshal(pair.Value, record); err != nil {
		return nil, fmt.Errorf("record of the replaced object %s: %w", strings.TrimPrefix(pair.Key, ReplacedPrefix), err)
	}
	return record, nil
}
