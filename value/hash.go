package value

import (
	"encoding/json"
	"hash/maphash"
	"math/bits"
)

// Hash returns a number that is the same for values that are equal.
func (c Comparison) Hash(s Shape, v any) uint64 { return Hasher{comparison: c}.hash(s, v) }

// HashKeys returns a number that is the same for items with equal keys.
func (c Comparison) HashKeys(keys []string, item any) uint64 {
	object, _ := item.(map[string]any)
	h := uint64(0)
	for _, key := range keys {
		h = mix(h+listHash, c.Hash(nil, c.mode.Field(object, key)))
	}
	return h
}

// MapKey returns a key for a Go map: equal scalars have the same key. It returns
// false for null, objects and lists.
func MapKey(scalar any) (any, bool) {
	switch scalar.(type) {
	case string, bool:
		return scalar, true
	}
	n, ok := numberOf(scalar)
	if ok && n.kind == integer {
		return n.small, true
	}
	return n, ok
}

// Hasher hashes lists and remembers the result, so that lists inside of lists
// are hashed once. It is not safe for concurrent use.
type Hasher struct {
	comparison Comparison
	known      map[knownList][]uint64
}

// knownList identifies a list by the address of its first item, and by the shape
// with which it was hashed.
type knownList struct {
	first *any
	shape Shape
}

// NewHasher returns a hasher that has hashed nothing yet.
func (c Comparison) NewHasher() Hasher {
	return Hasher{comparison: c, known: map[knownList][]uint64{}}
}

// Items returns the hashes of the items of a list.
func (h Hasher) Items(s Shape, list []any) []uint64 {
	if len(list) == 0 {
		return nil
	}
	key := knownList{&list[0], s}
	if hashes := h.known[key]; len(hashes) == len(list) {
		return hashes
	}
	hashes := make([]uint64, len(list))
	for i, v := range list {
		hashes[i] = h.below(item(s, i), v)
	}
	h.known[key] = hashes
	return hashes
}

func (h Hasher) hash(s Shape, v any) uint64 {
	if h.comparison.mode != Strict {
		v = h.comparison.mode.Reduce(v)
	}
	switch v := v.(type) {
	case map[string]any:
		return h.object(s, v)
	case []any:
		return h.list(s, v)
	}
	if s != nil {
		v = canonical(s, v)
	}
	return h.scalar(v)
}

// below hashes a value inside of an object or list. A value that is not compared
// has the hash of an absent value.
func (h Hasher) below(s Shape, v any) uint64 {
	if isIgnored(s) {
		return absentHash
	}
	return h.hash(s, v)
}

// object adds up one hash for each key and its value, so that the order of the keys
// does not matter. Keys with an absent value are left out.
func (h Hasher) object(s Shape, v map[string]any) uint64 {
	sum, counted := uint64(0), 0
	for name, child := range v {
		hash := h.below(field(s, name), child)
		if hash == absentHash {
			continue
		}
		sum += mix(maphash.String(h.comparison.seed, name), hash)
		counted++
	}
	if counted == 0 && h.comparison.mode == BuiltIn {
		return absentHash
	}
	return mix(sum, objectHash)
}

func (h Hasher) list(s Shape, v []any) uint64 {
	asSet, hash := isSet(s), uint64(0)
	if h.known != nil {
		for _, itemHash := range h.Items(s, v) {
			hash = combine(asSet, hash, itemHash)
		}
		return mix(hash, listHash)
	}
	for i, child := range v {
		hash = combine(asSet, hash, h.below(item(s, i), child))
	}
	return mix(hash, listHash)
}

// combine returns the hash of a list after one more item. hash is that of the items
// before it.
func combine(asSet bool, hash, item uint64) uint64 {
	if asSet {
		return hash + mix(item, setHash)
	}
	return mix(hash+listHash, item)
}

// The hashes of single values, and numbers that make the hashes of objects, lists
// and sets different.
const (
	absentHash uint64 = 0x9e3779b97f4a7c15 + iota
	nullHash
	trueHash
	falseHash
	objectHash
	listHash
	setHash
	otherHash
)

func (h Hasher) scalar(v any) uint64 {
	switch v := v.(type) {
	case string:
		return maphash.String(h.comparison.seed, v)
	case nil:
		return nullHash
	case Absent:
		return absentHash
	case bool:
		if v {
			return trueHash
		}
		return falseHash
	}
	n, ok := numberOf(v)
	switch {
	case ok && n.kind == integer:
		return maphash.Comparable(h.comparison.seed, n.small)
	case ok:
		return maphash.Comparable(h.comparison.seed, n)
	}
	if text, ok := v.(json.Number); ok {
		return maphash.String(h.comparison.seed, string(text))
	}
	return otherHash
}

// mix folds the 128-bit product of two words, which depends on all bits of both.
func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return high ^ low
}
