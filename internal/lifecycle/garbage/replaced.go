package garbage

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/replacement"
)

const (
	// recordsKept is how long the record of a replaced object stays at least. A controller reads the owner of an object before it sets an
	// owner reference, so that none sets one to the replaced object so much later.
	recordsKept = time.Hour
	// recordsInterval is the time between two looks at all records.
	recordsInterval = 10 * time.Minute
)

// Replaced has the records of replaced objects whose dependents must not be deleted.
type Replaced interface {
	// Find returns the record of an object, nil if there is none. The record of an object that was replaced exists when the object does not
	// exist any more.
	Find(ctx context.Context, old types.UID) (*replacement.Record, error)
	// List returns all records.
	List(ctx context.Context) ([]replacement.Record, error)
	// Remove removes the record of an object.
	Remove(ctx context.Context, old types.UID) error
}

// replacedOwner returns the record of the absent owner to which a reference of an object refers, nil if there is none. The answer is kept with
// the key of the owner: an object that is absent there will never be.
func (c *collector) replacedOwner(ctx context.Context, o *object, ref metav1.OwnerReference) (*replacement.Record, error) {
	if c.config.Replaced == nil {
		return nil, nil
	}
	key := objectKey{groupKindOf(ref), o.namespace, ref.Name}
	record, known := c.graph.record(ref.UID, key)
	if !known {
		var err error
		if record, err = c.config.Replaced.Find(ctx, ref.UID); err != nil {
			return nil, fmt.Errorf("read whether owner %s %s was replaced: %w", ref.Kind, ref.Name, err)
		}
		c.graph.setRecord(ref.UID, key, record)
	}
	if record == nil || !record.Names(ref, o.namespace) {
		return nil, nil
	}
	return record, nil
}

// follow changes the owner references of an object whose owners were replaced, as their records say.
func (c *collector) follow(ctx context.Context, o *object, records []*replacement.Record) error {
	err := c.changeOwners(ctx, o, func(refs []metav1.OwnerReference) []metav1.OwnerReference {
		for _, record := range records {
			refs = record.Change(refs, o.namespace)
		}
		return refs
	})
	if err != nil && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) {
		c.report(ctx, o, notice{
			prefix: "replaced", Reason: "OwnerReplaced",
			message: "its owner was replaced, and the garbage collector cannot change its owner references: " + err.Error(),
		})
	}
	return err
}

// record returns the record of an absent owner, as far as the collector has read it.
func (g *graph) record(uid types.UID, key objectKey) (*replacement.Record, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if found := g.owners[uid]; found != nil {
		record, known := found.records[key]
		return record, known
	}
	return nil, false
}

// setRecord records what the collector has read. record is nil if there is none.
func (g *graph) setRecord(uid types.UID, key objectKey, record *replacement.Record) {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := g.owners[uid]
	if found == nil {
		return // it has no dependents any more
	}
	if found.records == nil {
		found.records = map[objectKey]*replacement.Record{}
	}
	found.records[key] = record
}

// removeRecords removes the records that nothing needs any more, from time to time until ctx ends.
func (c *collector) removeRecords(ctx context.Context) {
	if c.config.Replaced == nil {
		return
	}
	kept := c.config.KeepRecords
	if kept == 0 {
		kept = recordsKept
	}
	ticker := time.NewTicker(min(kept, recordsInterval))
	defer ticker.Stop()
	for {
		if err := c.removeOld(ctx, time.Now().Add(-kept)); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "records of replaced objects stay", "controller", "garbage")
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// removeOld removes the records from before a time, except those of objects that still have dependents, or may have.
func (c *collector) removeOld(ctx context.Context, before time.Time) error {
	records, err := c.config.Replaced.List(ctx)
	if err != nil {
		return err
	}
	records = slices.DeleteFunc(records, func(record replacement.Record) bool { return record.Time.After(before) })
	if len(records) == 0 {
		return nil
	}
	// The graph has no objects of a kind that discovery has never returned.
	if _, err := c.config.Discovery.ServerPreferredResourcesWithContext(ctx); err != nil {
		return err
	}
	for _, record := range records {
		owner := &object{kind: &kind{kind: record.Kind}, namespace: record.Namespace, name: record.Name, uid: record.Old}
		refers := func(o *object) bool { return !o.deleting && o.hasOwner(record.Old) }
		if len(c.graph.dependents(record.Old, refers)) > 0 || c.checkUnread(ctx, owner, refers) != nil {
			continue
		}
		if err := c.config.Replaced.Remove(ctx, record.Old); err != nil {
			return err
		}
	}
	return nil
}
