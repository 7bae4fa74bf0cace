package referrers

import (
	"hash/maphash"
	"slices"

	"holdfast.dev/holdfast/internal/references"
)

// maxKeys is how many different references of an object in a namespace are kept. The pods and the custom resources of Kubernetes have
// fewer than a hundred. Without a bound, an object would need several times its stored size in the index.
const maxKeys = 4096

// The bounds for an object without a namespace, such as a report about a cluster. If it has more references, no object of the cluster is unused, so
// that they are far beyond what such objects have. A reference with a placeholder is compared with each object.
const (
	maxClusterKeys = 1 << 16
	maxPatterns    = 256
)

// key is a reference: a hash of the namespace and the name of the object that is referred to, with a references.Kind in the lowest two bits,
// and a flag. An empty name stands for all objects of a namespace.
type key uint64

const (
	kindBits key = 3
	// everywhere marks a reference without a namespace in an object without one. It counts in every namespace.
	everywhere key = 4
	// foreign marks a reference from another namespace, whichever it is.
	foreign key = 8
	// fromOne marks a reference from another namespace, whose name is part of the hash. It comes with one that is marked as foreign. It is the
	// third value of the two bits of everywhere and foreign, which are never set together otherwise: a reference from another namespace has one.
	fromOne = everywhere | foreign
	flags   = kindBits | fromOne
)

// names are hashed together.
type names struct{ namespace, name string }

func (x *Index) key(kind references.Kind, namespace, name string) key {
	return key(maphash.Comparable(x.seed, names{namespace, name}))&^flags | key(kind)
}

// keyFrom returns the key of a reference from another namespace.
func (x *Index) keyFrom(kind references.Kind, from string, object names) key {
	return key(maphash.Comparable(x.seed, [3]string{from, object.namespace, object.name}))&^flags | fromOne | key(kind)
}

// found are the references of an object.
type found struct {
	keys []key
	// grant is what the object allows, if it is a ReferenceGrant.
	grant grant
	// patterns are the references with placeholders of an object without a namespace.
	patterns []references.Reference
}

// collector collects the references of one object after the other.
type collector struct {
	index     *Index
	namespace string
	found
}

// begin begins an object in a namespace.
func (c *collector) begin(namespace string) {
	c.namespace, c.found = namespace, found{keys: c.keys[:0]}
}

// add adds a reference of the object. It is a references.Visit.
func (c *collector) add(kind references.Kind, namespace, name string) {
	reference := references.Reference{Kind: kind, Namespace: namespace, Name: name}
	switch pattern := reference.IsPattern(); {
	case pattern && c.namespace == "":
		c.patterns = append(c.patterns, reference)
	case pattern:
		c.keys = append(c.keys, c.index.key(kind, c.namespace, ""))
	case !references.MayBeName(name):
		// There is no object with this name.
	case c.namespace == "" && namespace == "":
		c.keys = append(c.keys, c.index.key(kind, "", name)|everywhere)
	case c.namespace == "":
		c.keys = append(c.keys, c.index.key(kind, namespace, name))
	case namespace == "" || namespace == c.namespace:
		c.keys = append(c.keys, c.index.key(kind, c.namespace, name))
	default:
		c.keys = append(c.keys, c.index.key(kind, namespace, name)|foreign, c.index.keyFrom(kind, c.namespace, names{namespace, name}))
	}
}

// end returns the references of the object. They are valid until the next begin.
func (c *collector) end() found {
	slices.Sort(c.keys)
	c.keys = slices.Compact(c.keys)
	switch {
	case c.namespace != "" && len(c.keys) > maxKeys:
		c.keys = append(c.keys[:0], c.index.key(references.Either, c.namespace, ""))
	case len(c.keys) > maxClusterKeys, len(c.patterns) > maxPatterns:
		c.keys, c.patterns = append(c.keys[:0], c.index.key(references.Either, "", "")|everywhere), nil
	}
	return c.found
}

// keysOf returns the keys of the references that count for an object, if some references from other namespaces are granted.
func (x *Index) keysOf(kind references.Kind, namespace, name string, table grantTable) []key {
	exact, all, anywhere := x.key(kind, namespace, name), x.key(kind, namespace, ""), x.key(kind, "", name)|everywhere
	keys := []key{exact, exact | kindBits, all, all | kindBits, anywhere, anywhere | kindBits, x.key(references.Either, "", "") | everywhere}
	some, everyone := table.from(kind, namespace, name)
	if everyone {
		return append(keys, exact|foreign, exact|foreign|kindBits)
	}
	for _, from := range some {
		keys = append(keys, x.keyFrom(kind, from, names{namespace, name}), x.keyFrom(references.Either, from, names{namespace, name}))
	}
	return keys
}

// matches reports whether one of some references with placeholders may be one to an object.
func matches(patterns []references.Reference, kind references.Kind, namespace, name string) bool {
	return slices.ContainsFunc(patterns, func(r references.Reference) bool {
		if r.Namespace == "" {
			r.Namespace = namespace
		}
		return r.Kind&kind != 0 && r.Matches(namespace, name)
	})
}
