package immutability

import (
	"hash/maphash"
	"math/bits"
)

// hash is equal for values that are equal at n. Objects and sets add up the
// hashes of what they hold, since order does not count in them.
func (p *Policy) hash(n *node, v any) uint64 {
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

func (p *Policy) hashObject(n *node, v map[string]any) uint64 {
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

func (p *Policy) hashList(n *node, v []any) uint64 {
	kind, _ := n.listType()
	h := uint64(0)
	for i, item := range v {
		below := n.item(i)
		if below.isFree() {
			continue
		}
		if kind == setList {
			h += mix(p.hash(below, item), setHash)
		} else {
			h = mix(h+listHash, p.hash(below, item))
		}
	}
	return mix(h, listHash)
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

func (p *Policy) hashScalar(v any) uint64 {
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
