package referrers

import (
	"iter"
	"slices"
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
	// at is the index of the object among those of its namespace.
	at int32
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
	// in has the objects of each namespace, in any order. A change in one namespace must not cost a look at the objects of all.
	in map[string][]*target
}

func newTargets() targets {
	return targets{byKey: map[key]*target{}, byName: map[key]*target{}, in: map[string][]*target{}}
}

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
	added.at = int32(len(t.in[added.namespace])) //nolint:gosec // a namespace with more objects would not fit in the memory
	t.in[added.namespace] = append(t.in[added.namespace], added)
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
	t.leave(removed)
}

// leave removes an object from those of its namespace. The last one takes its place.
func (t targets) leave(removed *target) {
	in := t.in[removed.namespace]
	last := len(in) - 1
	in[removed.at], in[last].at = in[last], removed.at
	in[last] = nil
	if in = in[:last]; last == 0 {
		delete(t.in, removed.namespace)
	} else if last < cap(in)/4 {
		t.in[removed.namespace] = slices.Clone(in)
	} else {
		t.in[removed.namespace] = in
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

// of returns the objects of a namespace, or, if it is empty, of all. The caller may remove the object that it gets.
func (t targets) of(namespace string) iter.Seq[*target] {
	return func(yield func(*target) bool) {
		if namespace != "" {
			for _, found := range slices.Backward(t.in[namespace]) {
				if !yield(found) {
					return
				}
			}
			return
		}
		for _, in := range t.in {
			for _, found := range slices.Backward(in) {
				if !yield(found) {
					return
				}
			}
		}
	}
}
