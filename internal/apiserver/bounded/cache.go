// Package bounded is a cache with a bound on the bytes that it holds.
//
//	cache := bounded.New[string, []byte](bounded.Config[string, []byte]{Name: "texts", Limit: 64 << 20, Largest: 1 << 20})
//	cache.Add("a", text, len(text))
//	text, ok := cache.Get("a", func(text []byte) bool { return true })
//
// When the cache is full, it removes entries in the random order of Go's maps. A list of more objects than the cache holds would
// remove every entry before its next use if the cache removed the oldest entries first.
//
// A cache is safe for concurrent use. It does not copy values: callers that share a value must not change it.
package bounded

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Config configures a cache.
type Config[K comparable, V any] struct {
	// Name is the name of the cache in metrics.
	Name string
	// Limit bounds the sum of the sizes of all values, and Largest the size of one value.
	Limit, Largest int
	// Removed is called for each value that leaves the cache. It must not call the cache. It is optional.
	Removed func(key K, value V)
}

// Cache holds values by key.
type Cache[K comparable, V any] struct {
	config       Config[K, V]
	hits, misses atomic.Uint64

	mu      sync.Mutex
	entries map[K]entry[V]
	size    int
}

type entry[V any] struct {
	value V
	size  int
}

// New returns an empty cache.
func New[K comparable, V any](config Config[K, V]) *Cache[K, V] {
	return &Cache[K, V]{config: config, entries: map[K]entry[V]{}}
}

// Get returns the value with a key for which a function holds. It counts as a hit or as a miss.
func (c *Cache[K, V]) Get(key K, holds func(V) bool) (V, bool) {
	c.mu.Lock()
	found, ok := c.entries[key]
	c.mu.Unlock()
	if ok && holds(found.value) {
		c.hits.Add(1)
		return found.value, true
	}
	c.misses.Add(1)
	var none V
	return none, false
}

// Add puts a value of a size into the cache, in place of the value with the same key. A value larger than Largest is not put into
// the cache, and the earlier value is removed all the same.
func (c *Cache[K, V]) Add(key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
	if size > c.config.Largest {
		return
	}
	for other := range c.entries {
		if c.size+size <= c.config.Limit {
			break
		}
		c.remove(other)
	}
	c.entries[key] = entry[V]{value, size}
	c.size += size
}

// Entries returns the entries that the cache has when the loop begins, except those that leave it meanwhile. It counts neither hits nor
// misses. The body of the loop may call the cache.
func (c *Cache[K, V]) Entries() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		c.mu.Lock()
		keys := slices.Collect(maps.Keys(c.entries))
		c.mu.Unlock()
		for _, key := range keys {
			c.mu.Lock()
			found, ok := c.entries[key]
			c.mu.Unlock()
			if ok && !yield(key, found.value) {
				return
			}
		}
	}
}

// Clear removes all values.
func (c *Cache[K, V]) Clear() { c.Remove(func(K) bool { return true }) }

// Name returns the name of the cache in metrics.
func (c *Cache[K, V]) Name() string { return c.config.Name }

// Remove removes the values whose keys match.
func (c *Cache[K, V]) Remove(matches func(K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.entries {
		if matches(key) {
			c.remove(key)
		}
	}
}

// remove removes the value with a key. The caller holds the lock.
func (c *Cache[K, V]) remove(key K) {
	found, ok := c.entries[key]
	if !ok {
		return
	}
	c.size -= found.size
	delete(c.entries, key)
	if c.config.Removed != nil {
		c.config.Removed(key, found.value)
	}
}
