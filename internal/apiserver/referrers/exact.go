package referrers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/references"
)

// maxPrefixes bounds the prefixes of a fence. An etcd allows 128 operations in a transaction by default. The member in the process allows more.
const maxPrefixes, maxPrefixesInProcess = 100, 4000

var nodes = schema.GroupResource{Resource: "nodes"}

// errReferenced says that an object refers to the one that is looked for.
var errReferenced = errors.New("referenced")

// exact looks for references to one object in etcd.
type exact struct {
	index           *Index
	kind            references.Kind
	namespace, name string
	// parts are the stored objects that may refer to the object.
	parts []part
	// granted says that references from other namespaces count.
	granted bool
}

// part are stored objects that may refer to an object.
type part struct {
	storage.Part
	visit func(object storage.Stored, visit references.Visit) error
	// used says that there are such objects, refers that one of them has references, and custom that they are custom resources.
	used, refers, custom bool
}

// Unreferenced reads the stored objects that may refer to an object from etcd, not from a cache. ok is false if one refers to it. In the
// context that it returns, a delete of the object succeeds only if no object that may refer to it was written since. If one was written
// that does not refer to it, the delete looks again, a few times.
//
// An etcd outside of the process compares at most 100 prefixes. If there are more kinds, it does not compare those of custom resources that have no
// object in the namespace: the first object of such a kind may be stored between the read and the delete, unseen.
func (x *Index) Unreferenced(ctx context.Context, kind references.Kind, namespace, name string) (fenced context.Context, ok bool, err error) {
	e := &exact{index: x, kind: kind, namespace: namespace, name: name}
	revision, err := x.config.Objects.Revision(ctx)
	if err != nil {
		return ctx, false, err
	}
	if err := e.plan(ctx); err != nil {
		return ctx, false, fmt.Errorf("read the kinds that may refer to %s/%s: %w", namespace, name, err)
	}
	switch err := e.look(ctx, 0); {
	case errors.Is(err, errReferenced):
		return ctx, false, nil
	case err != nil:
		return ctx, false, fmt.Errorf("look for references to %s/%s: %w", namespace, name, err)
	}
	return etcd.WithFence(ctx, etcd.Fence{Revision: revision, Prefixes: e.prefixes(), Renew: e.renew(revision)}), true, nil
}

// renew returns the function that looks at the objects that were written after a revision.
func (e *exact) renew(after int64) func(context.Context, *etcd.FenceError) (int64, bool) {
	return func(ctx context.Context, _ *etcd.FenceError) (int64, bool) {
		revision, err := e.index.config.Objects.Revision(ctx)
		if err != nil || e.look(ctx, after) != nil {
			return 0, false
		}
		after = revision
		return revision, true
	}
}

// plan finds the kinds whose objects may refer to the object.
func (e *exact) plan(ctx context.Context) error {
	e.index.mu.Lock()
	for resource, k := range e.index.kinds {
		if k.custom || resource == definitionsResource {
			continue
		}
		p := part{Part: storage.Part{Resource: resource}, visit: e.builtIn(k)}
		if k.namespaced {
			p.Namespace = e.namespace
		}
		e.parts = append(e.parts, p)
	}
	e.index.mu.Unlock()
	declarations, err := e.index.storedDefinitions(ctx)
	if err != nil {
		return err
	}
	own, _ := references.BuiltIn(definitionsResource)
	e.parts = append(e.parts, part{Part: storage.Part{Resource: definitionsResource}, visit: ruleSet{own}.stored()})
	if _, ok := declarations[grants]; ok {
		_, err := e.index.config.Objects.Visit(ctx, storage.Part{Resource: grants, Namespace: e.namespace}, func(storage.Stored) error {
			e.granted = true
			return nil
		})
		if err != nil {
			return err
		}
	}
	for resource, stored := range declarations {
		d, rules := stored.declaration, stored.rules(resource)
		p := part{Part: storage.Part{Resource: resource}, visit: rules.stored(), custom: true}
		// Only declared references have a namespace.
		if d.namespaced && !(e.granted && !rules.isEverything()) {
			p.Namespace = e.namespace
		}
		e.parts = append(e.parts, p)
	}
	return nil
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

// builtIn returns the function that visits the references of a stored object of a built-in kind.
func (e *exact) builtIn(k *kind) func(storage.Stored, references.Visit) error {
	store := e.index.config.Stores[k.resource]
	return func(object storage.Stored, visit references.Visit) error {
		decoded, _, err := store.Storage.Codec.Decode(object.Text, nil, store.NewFunc())
		if err == nil {
			k.typed.Visit(decoded, visit)
		}
		return err
	}
}

// stored returns the function that visits the references of an object that is stored as JSON.
func (s ruleSet) stored() func(storage.Stored, references.Visit) error {
	return func(object storage.Stored, visit references.Visit) error { return s.visit(object.Text, visit) }
}

// look reads the objects that were written after a revision, and returns errReferenced if one refers to the object. If a definition or a
// ReferenceGrant was written, other objects may refer to it than before, and it returns errReferenced too.
func (e *exact) look(ctx context.Context, after int64) error {
	counts := e.index.keysOf(e.kind, e.namespace, e.name, e.granted)
	refs := collector{index: e.index}
	for i := range e.parts {
		p := &e.parts[i]
		p.After = after
		_, err := e.index.config.Objects.Visit(ctx, p.Part, func(object storage.Stored) error {
			p.used = true
			if after > 0 && (p.Resource == definitionsResource || p.Resource == grants) {
				return errReferenced
			}
			refs.begin(object.Namespace)
			if err := p.visit(object, refs.add); err != nil {
				return fmt.Errorf("decode %s %s: %w", p.Resource, object.FullName(), err)
			}
			found := refs.end()
			p.refers = p.refers || len(found.keys)+len(found.patterns) > 0
			if matches(found.patterns, e.kind, e.namespace, e.name) ||
				slices.ContainsFunc(counts, func(one key) bool { return slices.Contains(found.keys, one) }) {
				return errReferenced
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// prefixes returns the prefixes of the keys of the objects that may refer to the object.
func (e *exact) prefixes() []string {
	limit := maxPrefixes
	if slices.Contains(e.index.config.Objects.Client.Endpoints(), etcd.InProcess) {
		limit = maxPrefixesInProcess
	}
	all := make([]string, 0, len(e.parts))
	for _, p := range e.parts {
		// The server drops the reference of a node that had none. The many writes of nodes would break the fence.
		if p.Resource == nodes && !p.refers {
			continue
		}
		if len(e.parts) <= limit || p.used || !p.custom {
			all = append(all, p.Prefix())
		}
	}
	return all
}
