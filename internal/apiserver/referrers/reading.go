package referrers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/references"
)

// errOutdated says that other objects may refer to an object than those that were read.
var errOutdated = errors.New("a definition or a ReferenceGrant was written")

// reading is what etcd says about the references to the unused objects of a namespace.
type reading struct {
	index     *Index
	namespace string
	// parts are the stored objects that may refer to the objects, and spans have their keys, for the fence.
	parts []part
	spans []etcd.Span
	// granted has the grants of the namespace.
	granted grantTable
	begun   time.Time

	mu sync.Mutex
	// revision is the one up to which the objects were read. outdated says that what was written later could not be read.
	revision int64
	outdated bool
	// found has the keys of all references that would count, and whether there is such a reference. patterns are those with placeholders.
	found    map[key]bool
	patterns []references.Reference
}

// part are stored objects that may refer to an object.
type part struct {
	storage.Part
	visit func(object storage.Stored, visit references.Visit) error
	// refers says that one of the objects has references.
	refers bool
}

// readAll reads the stored objects that may refer to an object, or to another unused one of its namespace.
func (x *Index) readAll(ctx context.Context, namespace string, about question) (*reading, error) {
	r := &reading{index: x, namespace: namespace, granted: grantTable{}, found: map[key]bool{}, begun: x.now()}
	var err error
	if r.revision, err = x.config.Objects.Revision(ctx); err != nil {
		return nil, err
	}
	if err := r.plan(ctx); err != nil {
		return nil, fmt.Errorf("read the kinds that may refer to %s/%s: %w", namespace, about.name, err)
	}
	r.lookFor(about.kind, about.name)
	x.mu.Lock()
	for _, t := range x.targets.in[namespace] {
		if t.immutable && !t.referenced {
			r.lookFor(t.kind, t.name)
		}
	}
	x.mu.Unlock()
	if err := r.look(ctx, 0); err != nil {
		return nil, fmt.Errorf("look for references to %s/%s: %w", namespace, about.name, err)
	}
	r.spans = x.spansOf(r.parts)
	return r, nil
}

// lookFor makes the reading look for the references to an object.
func (r *reading) lookFor(kind references.Kind, name string) {
	for _, one := range r.index.keysOf(kind, r.namespace, name, r.granted) {
		r.found[one] = false
	}
}

// isRecent reports whether the reading may judge another object. Later, too much was written since.
func (r *reading) isRecent(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.outdated && now.Sub(r.begun) < recent
}

// knows reports whether the reading has looked for the references to an object.
func (r *reading) knows(kind references.Kind, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.found[r.index.key(kind, r.namespace, name)]
	return ok
}

// isReferenced reports whether an object refers to another one that the reading knows.
func (r *reading) isReferenced(kind references.Kind, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasReference(kind, name)
}

// hasReference is isReferenced for a caller that holds the lock.
func (r *reading) hasReference(kind references.Kind, name string) bool {
	for _, one := range r.index.keysOf(kind, r.namespace, name, r.granted) {
		if r.found[one] {
			return true
		}
	}
	return matches(r.patterns, kind, r.namespace, name)
}

// fence returns a context in which a write succeeds only if no reference to an object was stored since.
func (r *reading) fence(ctx context.Context, kind references.Kind, name string) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	renew := func(ctx context.Context, failed *etcd.FenceError) (int64, bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		// The delete of another object may have read what was written.
		if r.revision <= failed.Revision {
			revision, err := r.index.config.Objects.Revision(ctx)
			if err != nil || r.look(ctx, r.revision) != nil {
				r.outdated = true
				return 0, false
			}
			r.revision = revision
		}
		return r.revision, !r.hasReference(kind, name)
	}
	return etcd.WithFence(ctx, etcd.Fence{Revision: r.revision, Spans: r.spans, Renew: renew})
}

// plan finds the kinds whose objects may refer to objects of the namespace.
func (r *reading) plan(ctx context.Context) error {
	x := r.index
	x.mu.Lock()
	for resource, k := range x.kinds {
		if k.custom || resource == definitionsResource {
			continue
		}
		p := part{Part: storage.Part{Resource: resource}, visit: x.builtInStored(k)}
		if k.namespaced {
			p.Namespace = r.namespace
		}
		r.parts = append(r.parts, p)
	}
	x.mu.Unlock()
	declarations, err := x.storedDefinitions(ctx)
	if err != nil {
		return err
	}
	own, _ := references.BuiltIn(definitionsResource)
	r.parts = append(r.parts, part{Part: storage.Part{Resource: definitionsResource}, visit: ruleSet{own}.stored()})
	if _, ok := declarations[grants]; ok {
		_, err := x.config.Objects.Visit(ctx, storage.Part{Resource: grants, Namespace: r.namespace}, func(object storage.Stored) error {
			r.granted.add(r.namespace, grantOf(object.Text), 1)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for resource, stored := range declarations {
		d, rules := stored.declaration, stored.rules(resource)
		p := part{Part: storage.Part{Resource: resource}, visit: rules.stored()}
		// Only declared references have a namespace.
		if d.namespaced && (len(r.granted) == 0 || rules.isEverything() || resource == grants) {
			p.Namespace = r.namespace
		}
		r.parts = append(r.parts, p)
	}
	return nil
}

// look reads the objects that were written after a revision. If a definition or a ReferenceGrant was, other objects may refer to the objects than
// before, and the error is errOutdated.
func (r *reading) look(ctx context.Context, after int64) error {
	refs := collector{index: r.index}
	for i := range r.parts {
		p := &r.parts[i]
		p.After = after
		_, err := r.index.config.Objects.Visit(ctx, p.Part, func(object storage.Stored) error {
			if after > 0 && (p.Resource == definitionsResource || p.Resource == grants) {
				return errOutdated
			}
			refs.begin(object.Namespace)
			if err := p.visit(object, refs.add); err != nil {
				return fmt.Errorf("decode %s %s: %w", p.Resource, object.FullName(), err)
			}
			of := refs.end()
			p.refers = p.refers || len(of.keys)+len(of.patterns) > 0
			r.patterns = append(r.patterns, of.patterns...)
			for _, one := range of.keys {
				if _, ok := r.found[one]; ok {
					r.found[one] = true
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
