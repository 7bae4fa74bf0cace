package immutability

// matching pairs the items of two lists. The first inOrder items of both are
// paired with each other; of those after them, to[i] is the partner of the old
// item inOrder+i, or -1, and taken tells which of the new ones have a partner.
type matching struct {
	inOrder int
	to      []int32
	taken   []bool
	// oldLen and newLen are the lengths of the lists.
	oldLen, newLen int
}

// complete says whether every item has a partner.
func (m matching) complete() bool {
	if m.oldLen != m.newLen {
		return false
	}
	for _, j := range m.to {
		if j < 0 {
			return false
		}
	}
	return true
}

// partner is the index of the new item that is paired with the old one at i, -1
// for none.
func (m matching) partner(i int) int {
	if i < m.inOrder {
		return i
	}
	if j := m.to[i-m.inOrder]; j >= 0 {
		return m.inOrder + int(j)
	}
	return -1
}

// isNew says whether the new item at j has no partner.
func (m matching) isNew(j int) bool { return j >= m.inOrder && !m.taken[j-m.inOrder] }

// matchValues pairs equal items of two sets, as multisets.
func (p *Policy) matchValues(n *node, oldList, newList []any) matching {
	m := matching{oldLen: len(oldList), newLen: len(newList)}
	// Items that are equal in every detail, in order, are what an update that
	// does not touch the set has; anything beyond is left to the hashes, so that
	// a set inside of a set is not compared over and over.
	for m.inOrder < min(m.oldLen, m.newLen) && p.equal(nil, oldList[m.inOrder], newList[m.inOrder]) {
		m.inOrder++
	}
	p.matchRest(&m, byValue{p, n}, oldList, newList)
	return m
}

// matchKeys pairs items of two lists of type map by their keys. Where a key
// occurs more than once, the n-th item is paired with the n-th.
func (p *Policy) matchKeys(keys []string, oldList, newList []any) matching {
	by := byKeys{p, keys}
	m := matching{oldLen: len(oldList), newLen: len(newList)}
	for m.inOrder < min(m.oldLen, m.newLen) && by.same(oldList[m.inOrder], newList[m.inOrder]) {
		m.inOrder++
	}
	p.matchRest(&m, by, oldList, newList)
	return m
}

// identity is what makes two items partners.
type identity interface {
	hash(item any) uint64
	same(oldItem, newItem any) bool
}

type byValue struct {
	policy *Policy
	list   *node
}

func (b byValue) hash(item any) uint64 { return b.policy.hash(b.list.item(0), item) }
func (b byValue) same(oldItem, newItem any) bool {
	return b.policy.equal(b.list.item(0), oldItem, newItem)
}

type byKeys struct {
	policy *Policy
	keys   []string
}

func (b byKeys) hash(item any) uint64 {
	object, _ := item.(map[string]any)
	h := uint64(0)
	for _, key := range b.keys {
		h = mix(h+listHash, b.policy.hash(nil, lookup(object, key)))
	}
	return h
}

func (b byKeys) same(oldItem, newItem any) bool {
	x, _ := oldItem.(map[string]any)
	y, _ := newItem.(map[string]any)
	for _, key := range b.keys {
		if !b.policy.equal(nil, lookup(x, key), lookup(y, key)) {
			return false
		}
	}
	return true
}

// matchRest pairs what lies beyond m.inOrder, in linear time.
func (p *Policy) matchRest(m *matching, by identity, oldList, newList []any) {
	oldRest, newRest := oldList[m.inOrder:], newList[m.inOrder:]
	if len(oldRest) == 0 && len(newRest) == 0 {
		return
	}
	m.to = make([]int32, len(oldRest))
	m.taken = make([]bool, len(newRest))
	c := newChains(by, newRest)
	for i, item := range oldRest {
		m.to[i] = c.take(item)
		if j := m.to[i]; j >= 0 {
			m.taken[j] = true
		}
	}
}

// chains index a list by hash. Items of one hash are chained in list order, and
// a taken one leaves its chain, so that equal items are handed out one by one.
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

// take is the first item left that is the same as item, -1 for none.
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
