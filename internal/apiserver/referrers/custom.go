package referrers

import (
	"context"
	"fmt"
	"maps"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/stored"
)

// declaration is what the index needs to know of a definition.
type declaration struct {
	namespaced bool
	// text has the declared rules, for references.Parse. declared is false if there are none.
	text     string
	declared bool
	// converted says that a webhook converts between several versions.
	converted bool
	// served says that the server serves the objects, which is false while it deletes them.
	served bool
}

func declarationOf(crd *definition.CustomResourceDefinition) declaration {
	d := declaration{
		namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		served:     crd.DeletionTimestamp == nil && definition.IsConditionTrue(crd, apiextensionsv1.Established),
		converted: len(crd.Spec.Versions) > 1 && crd.Spec.Conversion != nil &&
			crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter,
	}
	d.text, d.declared = crd.References()
	return d
}

// rules returns the rules of the objects of a definition.
func (d declaration) rules(resource schema.GroupResource) ruleSet {
	if resource == grants {
		return ruleSet{{}} // it allows references, and is none
	}
	if d.declared {
		// A value that was stored before the server checked it may be malformed. It counts as not declared.
		if rules, err := references.Parse(d.text); err == nil {
			if d.converted {
				return ruleSet{rules, references.Everything()}
			}
			return ruleSet{rules}
		}
	}
	if rules, ok := references.BuiltIn(resource); ok {
		return ruleSet{rules}
	}
	return ruleSet{references.Everything()}
}

// readTimeout bounds one list of the stored objects of a kind.
const readTimeout = time.Minute

// item is a stored custom resource.
type item struct {
	names
	found
}

// definitionsChanged makes Run follow the definitions that exist. The caller holds the lock.
func (x *Index) definitionsChanged() {
	select {
	case x.changed <- struct{}{}:
	default: // Run has not handled an earlier change yet
	}
	x.notify(event{})
}

// Run follows the custom resources until ctx ends.
func (x *Index) Run(ctx context.Context) {
	watches := stored.New("references", stored.Objects[item](storedItems{x}))
	defer watches.Wait()
	followed := map[schema.GroupResource]follower{}
	check := time.NewTicker(checkInterval)
	defer check.Stop()
	for {
		x.follow(ctx, watches, followed)
		x.checkStores()
		select {
		case <-ctx.Done():
			return
		case <-x.changed:
		case <-check.C:
		}
	}
}

// follower is the feed of a custom resource.
type follower struct {
	kind *kind
	stop func()
}

// follow follows the custom resources of the definitions that exist, and no others. Only Run changes the custom kinds.
func (x *Index) follow(ctx context.Context, watches *stored.Watches[item], followed map[schema.GroupResource]follower) {
	x.mu.Lock()
	wanted := maps.Clone(x.definitions)
	x.mu.Unlock()
	for resource, f := range followed {
		if _, ok := wanted[resource]; !ok {
			f.stop()
			x.removeKind(f.kind)
			delete(followed, resource)
		}
	}
	for resource, d := range wanted {
		f, ok := followed[resource]
		if ok && f.kind.declaration.sameRules(d) {
			x.declare(f.kind, d)
			continue
		}
		if ok {
			f.stop()
		} else {
			f.kind = &kind{resource: resource, custom: true, objects: map[string]map[string][]key{}}
		}
		x.declare(f.kind, d)
		f.stop = watches.Follow(ctx, resource, receiver{x, f.kind})
		followed[resource] = f
	}
}

// sameRules reports whether the objects of two forms of a definition have the same references.
func (d declaration) sameRules(other declaration) bool {
	other.served = d.served
	return d == other
}

// declare sets the definition of a custom kind. The references that are known stay until the objects are read by the new rules.
func (x *Index) declare(k *kind, d declaration) {
	unlock := x.lock()
	defer unlock()
	if k.find != nil && k.declaration == d {
		return // Run follows the definitions every few seconds, and most of them have not changed
	}
	now := state{listed: k.listed, failed: k.failed, unserved: !d.served}
	if k.find == nil || !k.declaration.sameRules(d) {
		k.find = d.rules(k.resource)
		now.listed = false
	}
	k.declaration = d
	x.kinds[k.resource] = k
	k.setState(x, now)
	x.notify(event{})
}

// removeKind removes a custom kind with its objects.
func (x *Index) removeKind(k *kind) {
	unlock := x.lock()
	defer unlock()
	x.replace(k, func(func(names, found)) {})
	delete(x.kinds, k.resource)
	x.notify(event{})
}

// receiver receives the objects of a custom kind.
type receiver struct {
	index *Index
	kind  *kind
}

// Replace implements stored.Receiver.
func (r receiver) Replace(items []item) {
	unlock := r.index.lock()
	defer unlock()
	r.index.replace(r.kind, func(set func(names, found)) {
		for _, i := range items {
			set(i.names, i.found)
		}
	})
	r.kind.setState(r.index, state{listed: true, unserved: r.kind.unserved})
}

// Change implements stored.Receiver.
func (r receiver) Change(change stored.Change[item]) {
	unlock := r.index.lock()
	defer unlock()
	if change.Deleted {
		r.index.remove(r.kind, change.Object.names)
		return
	}
	r.index.set(r.kind, change.Object.names, change.Object.found)
}

// Fail implements stored.Receiver.
func (r receiver) Fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	klog.ErrorS(err, "objects cannot be read: nothing is collected in their namespaces", "component", "references", "resource", r.kind.resource)
	unlock := r.index.lock()
	defer unlock()
	r.kind.setState(r.index, state{listed: r.kind.listed, failed: true, unserved: r.kind.unserved})
}

// storedItems implements stored.Objects.
type storedItems struct{ index *Index }

// List implements stored.Objects.
func (s storedItems) List(ctx context.Context, resource schema.GroupResource) (stored.List[item], error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	rules := s.index.rulesOf(resource)
	list := stored.List[item]{}
	var err error
	list.Revision, err = s.index.config.Objects.Visit(ctx, storage.Part{Resource: resource, Snapshot: true}, func(object storage.Stored) error {
		i, err := s.index.read(resource, rules, object)
		list.Items = append(list.Items, i)
		return err
	})
	return list, err
}

// Watch implements stored.Objects.
func (s storedItems) Watch(ctx context.Context, group string, begun func(), change func(stored.Change[item])) error {
	return s.index.config.Objects.Watch(ctx, group, begun, func(c storage.Change) {
		changed := stored.Change[item]{Resource: c.Resource, Deleted: c.Deleted, Revision: c.Revision, Err: c.Err}
		changed.Object.names = names{c.Namespace, c.Name}
		if !c.Deleted && c.Err == nil {
			changed.Object, changed.Err = s.index.read(c.Resource, s.index.rulesOf(c.Resource), c.Stored)
		}
		change(changed)
	})
}

func (x *Index) rulesOf(resource schema.GroupResource) ruleSet {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k := x.kinds[resource]; k != nil {
		return k.find
	}
	return nil
}

// read returns the references of a stored custom resource.
func (x *Index) read(resource schema.GroupResource, rules ruleSet, object storage.Stored) (item, error) {
	refs := collector{index: x}
	refs.begin(object.Namespace)
	if err := rules.visit(object.Text, refs.add); err != nil {
		return item{}, fmt.Errorf("decode %s: %w", object.FullName(), err)
	}
	i := item{names{object.Namespace, object.Name}, refs.end()}
	if resource == grants {
		i.grant = grantOf(object.Text)
	}
	return i, nil
}
