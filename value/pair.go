package value

// Pairs says which item of a new list belongs to which item of an old list.
type Pairs struct {
	// inOrder is how many items at the beginning of both lists are paired by
	// their index. The indexes of to and paired begin after these items.
	inOrder int
	// to has the index of the partner of each old item, -1 if it has none.
	to []int32
	// paired says whether each new item has a partner.
	paired         []bool
	oldLen, newLen int
}

// Complete reports whether every item of both lists has a partner.
func (p Pairs) Complete() bool {
	if p.oldLen != p.newLen {
		return false
	}
	for _, j := range p.to {
		if j < 0 {
			return false
		}
	}
	return true
}

// InOrder returns how many items at the beginning of both lists are paired by
// their index.
func (p Pairs) InOrder() int { return p.inOrder }

// Partner returns the index of the new item that belongs to the old item at i,
// -1 if there is none.
func (p Pairs) Partner(i int) int {
	if i < p.inOrder {
		return i
	}
	if j := p.to[i-p.inOrder]; j >= 0 {
		return p.inOrder + int(j)
	}
	return -1
}

// IsNew reports whether the new item at j has no partner.
func (p Pairs) IsNew(j int) bool { return j >= p.inOrder && !p.paired[j-p.inOrder] }

// PairValues pairs equal items of two sets. An item that occurs twice needs two
// partners. s is the shape of the lists.
func (c Comparison) PairValues(s Shape, oldList, newList []any) Pairs {
	p := Pairs{oldLen: len(oldList), newLen: len(newList)}
	// Most updates do not change a set. This loop compares without the shape,
	// because with it a set inside of sets would be compared once for each set
	// around it.
	for p.inOrder < min(p.oldLen, p.newLen) && c.Equal(nil, oldList[p.inOrder], newList[p.inOrder]) {
		p.inOrder++
	}
	p.pairRest(byValue{c, item(s, 0)}, oldList, newList)
	return p
}

// PairKeys pairs the items of two lists that have the same values for keys. Where
// several items have the same keys, the first is paired with the first, the
// second with the second and so on.
func (c Comparison) PairKeys(keys []string, oldList, newList []any) Pairs {
	by := byKeys{c, keys}
	p := Pairs{oldLen: len(oldList), newLen: len(newList)}
	for p.inOrder < min(p.oldLen, p.newLen) && by.same(oldList[p.inOrder], newList[p.inOrder]) {
		p.inOrder++
	}
	p.pairRest(by, oldList, newList)
	return p
}

// identity says which items belong together.
type identity interface {
	hash(item any) uint64
	same(a, b any) bool
}

type byValue struct {
	comparison Comparison
	item       Shape
}

func (b byValue) hash(item any) uint64 { return b.comparison.Hash(b.item, item) }
func (b byValue) same(x, y any) bool   { return b.comparison.Equal(b.item, x, y) }

type byKeys struct {
	comparison Comparison
	keys       []string
}

func (b byKeys) hash(item any) uint64 { return b.comparison.HashKeys(b.keys, item) }
func (b byKeys) same(x, y any) bool   { return b.comparison.mode.EqualKeys(b.keys, x, y) }

// pairRest pairs the items after those in order, in linear time.
func (p *Pairs) pairRest(by identity, oldList, newList []any) {
	oldRest, newRest := oldList[p.inOrder:], newList[p.inOrder:]
	if len(oldRest) == 0 && len(newRest) == 0 {
		return
	}
	p.to = make([]int32, len(oldRest))
	p.paired = make([]bool, len(newRest))
	c := newChains(by, newRest)
	for i, item := range oldRest {
		p.to[i] = c.take(item)
		if j := p.to[i]; j >= 0 {
			p.paired[j] = true
		}
	}
}

// chains is an index of a list by hash. The items of one hash are a chain in the
// order of the list. A taken item leaves its chain, so that equal items are taken
// one after the other.
type chains struct {
	by    identity
	items []any
	heads map[uint64]int32
	next  []int32
}

func newChains(by identity, items []any) *chains {
	c := &chains{by: by, items: items, heads: make(map[uint64]int32, len(items)), next: make([]int32, len(items))}
	for i := len(items) - 1; i >= 0; i-- {
		h := by.hash(items[i])
		c.next[i] = -1
		if head, used := c.heads[h]; used {
			c.next[i] = head
		}
		c.heads[h] = int32(i)
	}
	return c
}

// take returns the index of the first item left that belongs to item, -1 if there
// is none.
func (c *chains) take(item any) int32 {
	h := c.by.hash(item)
	i, used := c.heads[h]
	if !used {
		return -1
	}
	for before := int32(-1); i >= 0; before, i = i, c.next[i] {
		if !c.by.same(item, c.items[i]) {
			continue
		}
		if before < 0 {
			c.heads[h] = c.next[i]
		} else {
			c.next[before] = c.next[i]
		}
		return i
	}
	return -1
}

// Occurrences returns, for each item of a list, how many items before it have the
// same keys.
func (c Comparison) Occurrences(keys []string, list []any) []int32 {
	by := byKeys{c, keys}
	counts := make([]int32, len(list))
	// last has, for each hash, the last item of each set of keys seen so far.
	last := make(map[uint64][]int32, len(list))
	for i, item := range list {
		h := by.hash(item)
		known := false
		for k, j := range last[h] {
			if by.same(list[j], item) {
				counts[i] = counts[j] + 1
				last[h][k] = int32(i)
				known = true
				break
			}
		}
		if !known {
			last[h] = append(last[h], int32(i))
		}
	}
	return counts
}
