package ownership

import "sync"

// Cache stores the last-applied configurations of live objects in canonical form,
// by UID and text, so that most writes need not decode them. The nil Cache stores
// nothing.
type Cache struct {
	mu    sync.Mutex
	limit int
	size  int
	known map[string]cached
}

type cached struct {
	kind   *Type
	text   string
	config *configuration
}

// NewCache returns a cache for configurations with at most limit bytes of text in
// total. In memory they take about ten times that.
func NewCache(limit int) *Cache { return &Cache{limit: limit, known: map[string]cached{}} }

// of returns the configuration with a text, for the object with a UID.
func (c *Cache) of(t *Type, uid, text string) *configuration {
	if c == nil || uid == "" {
		config := t.parse(text)
		return &config
	}
	c.mu.Lock()
	entry, ok := c.known[uid]
	c.mu.Unlock()
	if ok && entry.kind == t && entry.text == text {
		return entry.config
	}
	config := t.parse(text)
	c.put(uid, cached{kind: t, text: text, config: &config})
	return &config
}

func (c *Cache) put(uid string, entry cached) {
	if len(entry.text) > c.limit {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.known[uid]; ok {
		c.size -= len(old.text)
		delete(c.known, uid)
	}
	// Any entries may be evicted: a missing one is decoded again.
	for other, old := range c.known {
		if c.size+len(entry.text) <= c.limit {
			break
		}
		c.size -= len(old.text)
		delete(c.known, other)
	}
	c.known[uid] = entry
	c.size += len(entry.text)
}
