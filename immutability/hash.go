package immutability

import (
	"hash/maphash"
	"math/bits"
)

// hash is equal for values that are equal at n.
func (p *Policy) hash(n *node, v any) uint64 { return hasher{Policy: p}.hash(n, v) }

// hasher hashes values. Objects and sets add up the hashes of what they hold,
// since order does not count in them.
type hasher struct {
	*Policy
	// known, if it is not nil, keeps the hashes of the items of every list, so
	// that lists inside of lists are hashed once.
	known map[listKey][]uint64
}

type listKey struct {
	list *any
	node *node
}

func (p hasher) hash(n *node, v any) uint64 {
	if p.loose {
		v = emptied(v)
	}
	switch v := v.(type) {
	case map[string]any:
		return p.hashObject(n, v)
	case []any:
		return p.hashList(n, v)
	}
	if n != nil && n.canonical != nil {
		v = n.meaning(v)
	}
	return p.hashScalar(v)
}

func (p hasher) hashObject(n *node, v map[string]any) uint64 {
	sum, counted := uint64(0), 0
	for key, value := range v {
		below := n.child(key)
		if below.isFree() {
			continue
		}
		h := p.hash(below, value)
		if p.loose && h == absentHash {
			continue
		}
		sum += mix(maphash.String(p.seed, key), h)
		counted++
	}
	if p.loose && counted == 0 {
		return absentHash
	}
	return mix(sum, objectHash)
}

func (p hasher) hashList(n *node, v []any) uint64 {
	kind, _ := n.listType()
	h := uint64(0)
	if p.known != nil {
		for _, item := range p.items(n, v) {
			h = combine(kind, h, item)
		}
		return mix(h, listHash)
	}
	for i, item := range v {
		h = combine(kind, h, p.item(n.item(i), item))
	}
	return mix(h, listHash)
}

func combine(kind listKind, h, item uint64) uint64 {
	if kind == setList {
		return h + mix(item, setHash)
	}
	return mix(h+listHash, item)
}

// items are the hashes of the items of a list, kept for the next time.
func (p hasher) items(n *node, v []any) []uint64 {
	if len(v) == 0 {
		return nil
	}
	key := listKey{&v[0], n}
	if hashes := p.known[key]; len(hashes) == len(v) {
		return hashes
	}
	hashes := make([]uint64, len(v))
	for i, item := range v {
		hashes[i] = p.item(n.item(i), item)
	}
	p.known[key] = hashes
	return hashes
}

// item is the hash of a value that may have been freed.
func (p hasher) item(n *node, v any) uint64 {
	if n.isFree() {
		return absentHash
	}
	return p.hash(n, v)
}

// The hashes of what has no content, and what sets kinds of content apart.
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

func (p hasher) hashScalar(v any) uint64 {
	switch v := v.(type) {
	case string:
		return maphash.String(p.seed, v)
	case nil:
		return nullHash
	case absent:
		return absentHash
	case bool:
		if v {
			return trueHash
		}
		return falseHash
	}
	if x, ok := numberOf(v); ok {
		return maphash.Comparable(p.seed, x)
	}
	return otherHash
}

// mix folds the 128-bit product of two words, which depends on all bits of both.
func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return high ^ low
}
