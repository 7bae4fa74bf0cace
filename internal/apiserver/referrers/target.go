package referrers

import (
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/references"
)

// target is a ConfigMap or a Secret.
type target struct {
	names
	uid                   types.UID
	since                 time.Time
	kind                  references.Kind
	immutable, referenced bool
	// collides is the next object with the same key.
	collides *target
	// before and after are objects of the same kind with the same name in other namespaces.
	before, after *target
}

// targets are all ConfigMaps and Secrets.
type targets struct {
	byKey map[key]*target
	// byName has a list of the objects with a name, by the key with the flag everywhere.
	byName map[key]*target
}

func newTargets() targets { return targets{byKey: map[key]*target{}, byName: map[key]*target{}} }

// get returns an object, nil if there is none.
func (t targets) get(of key, namespace, name string) *target {
	for found := t.byKey[of]; found != nil; found = found.collides {
		if found.names == (names{namespace, name}) {
			return found
		}
	}
	return nil
}

// add adds an object that is not there.
func (t targets) add(x *Index, added *target) {
	of, named := x.key(added.kind, added.namespace, added.name), x.key(added.kind, "", added.name)|everywhere
	added.collides = t.byKey[of]
	t.byKey[of] = added
	if added.after = t.byName[named]; added.after != nil {
		added.after.before = added
	}
	t.byName[named] = added
}

// remove removes an object.
func (t targets) remove(x *Index, removed *target) {
	of, named := x.key(removed.kind, removed.namespace, removed.name), x.key(removed.kind, "", removed.name)|everywhere
	if t.byKey[of] == removed {
		setOrDelete(t.byKey, of, removed.collides)
	} else {
		for found := t.byKey[of]; found != nil; found = found.collides {
			if found.collides == removed {
				found.collides = removed.collides
			}
		}
	}
	if removed.after != nil {
		removed.after.before = removed.before
	}
	if removed.before != nil {
		removed.before.after = removed.after
	} else {
		setOrDelete(t.byName, named, removed.after)
	}
}

func setOrDelete(in map[key]*target, of key, t *target) {
	if t == nil {
		delete(in, of)
	} else {
		in[of] = t
	}
}

// each calls a function for the objects that a reference with a name may be one to.
func (t targets) each(of key, do func(*target)) {
	for _, kind := range []references.Kind{references.ConfigMap, references.Secret} {
		if of&key(kind) == 0 {
			continue
		}
		one := of&^(kindBits|foreign) | key(kind)
		if of&everywhere != 0 {
			for found := t.byName[one]; found != nil; found = found.after {
				do(found)
			}
			continue
		}
		for found := t.byKey[one]; found != nil; found = found.collides {
			do(found)
		}
	}
}

// all returns all objects.
func (t targets) all() iter.Seq[*target] {
	return func(yield func(*target) bool) {
		for _, first := range t.byKey {
			for found := first; found != nil; found = found.collides {
				if !yield(found) {
					return
				}
			}
		}
	}
}
