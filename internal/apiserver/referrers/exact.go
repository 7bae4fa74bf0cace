package referrers

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/references"
)

// Unreferenced reads the stored objects that may refer to an object from etcd, not from a cache. ok is false if one refers to it. In the
// context that it returns, a delete of the object succeeds only if no object that may refer to it was written since. If one was written
// that does not refer to it, the delete looks again, a few times.
//
// One read judges all objects of the namespace that the index takes for unused. For a few seconds, later calls about these objects need no further
// read. That is as safe as a read for each of them, because the delete depends on what was written after the read.
func (x *Index) Unreferenced(ctx context.Context, kind references.Kind, namespace, name string) (fenced context.Context, ok bool, err error) {
	slot := x.slotOf(namespace)
	slot.mu.Lock()
	defer slot.mu.Unlock()
	// What an earlier read has found may have been removed since, and what it has not found may have been stored.
	_, unused := x.Unused(kind, namespace, name)
	r := slot.reading
	if r == nil || !unused || x.Incomplete(namespace) != "" || !r.isRecent(x.now()) || !r.knows(kind, name) || r.isReferenced(kind, name) {
		if slot.reading, err = x.readAll(ctx, namespace, question{kind, names{namespace, name}}); err != nil {
			return ctx, false, err
		}
		r = slot.reading
	}
	if r.isReferenced(kind, name) {
		return ctx, false, nil
	}
	return r.fence(ctx, kind, name), true, nil
}

// recent is how long a read of a namespace judges further objects.
const recent = 10 * time.Second

// slot holds the last read of a namespace. One caller after the other uses it, so that the others wait for the read of the first.
type slot struct {
	mu      sync.Mutex
	reading *reading
	used    time.Time
}

// slotOf returns the slot of a namespace, and drops those that were not used for some time.
func (x *Index) slotOf(namespace string) *slot {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.now()
	for other, s := range x.slots {
		if now.Sub(s.used) > recent {
			delete(x.slots, other)
		}
	}
	if x.slots[namespace] == nil {
		x.slots[namespace] = &slot{}
	}
	x.slots[namespace].used = now
	return x.slots[namespace]
}

// storedDefinition is a definition, as it was stored at a revision.
type storedDefinition struct {
	declaration
	revision int64
}

// storedDefinitions reads the definitions from etcd. Schemas are large, so that it decodes only those that were written since the last call.
func (x *Index) storedDefinitions(ctx context.Context) (map[schema.GroupResource]storedDefinition, error) {
	x.mu.Lock()
	before := x.decoded
	x.mu.Unlock()
	all := make(map[schema.GroupResource]storedDefinition, len(before))
	_, err := x.config.Objects.Scan(ctx, definitionsResource, 0, func(object storage.Stored) error {
		resource := schema.ParseGroupResource(object.Name)
		if known, ok := before[resource]; ok && known.revision == object.Revision {
			all[resource] = known
			return nil
		}
		crd := &definition.CustomResourceDefinition{}
		if err := json.Unmarshal(object.Text, crd); err != nil {
			return fmt.Errorf("decode the definition %s: %w", object.Name, err)
		}
		all[resource] = storedDefinition{declarationOf(crd), object.Revision}
		return nil
	})
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.decoded = all
	return all, nil
}

// stored returns the function that visits the references of an object that is stored as JSON.
func (s ruleSet) stored() func(storage.Stored, references.Visit) error {
	return func(object storage.Stored, visit references.Visit) error { return s.visit(object.Text, visit) }
}

// builtInStored returns the function that visits the references of a stored object of a built-in kind.
func (x *Index) builtInStored(k *kind) func(storage.Stored, references.Visit) error {
	store := x.config.Stores[k.resource]
	return func(object storage.Stored, visit references.Visit) error {
		decoded, _, err := store.Storage.Codec.Decode(object.Text, nil, store.NewFunc())
		if err == nil {
			k.typed.Visit(decoded, visit)
		}
		return err
	}
}
