package custom

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxTexts is the size of all cached texts of a server, in bytes.
	maxTexts = 64 << 20
	// maxText is the size of the largest text that is cached.
	maxText = 1 << 20
)

// texts caches the JSON text of stored objects, so that a GET or LIST of an object that
// was read before does not encode it again. UID and resourceVersion identify the content
// of a stored object. They do not identify the result of a dry run, nor the object
// of a DELETED event that a watch sends when an object no longer matches its selector.
// Therefore only GET and LIST use the cache.
//
// When the cache is full, it removes entries in the random order of Go's maps. A LIST of
// more objects than the cache holds would remove every entry before its next use if the
// cache removed the oldest entries first.
type texts struct {
	mu      sync.Mutex
	entries map[textKey][]byte
	size    int
}

// textKey identifies the text of an object. Each version of a resource has its own texts,
// and a changed definition has new versions.
type textKey struct {
	version         *version
	uid             types.UID
	resourceVersion string
}

// get returns the text of an object, nil if it is not cached. The caller does not change
// the text.
func (t *texts) get(key textKey) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries[key]
}

// add caches a text. The caller does not change the text afterwards.
func (t *texts) add(key textKey, text []byte) {
	if len(text) > maxText {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.entries == nil {
		t.entries = map[textKey][]byte{}
	}
	t.remove(key)
	for other := range t.entries {
		if t.size+len(text) <= maxTexts {
			break
		}
		t.remove(other)
	}
	t.entries[key] = text
	t.size += len(text)
}

// drop removes the texts of a version.
func (t *texts) drop(v *version) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.entries {
		if key.version == v {
			t.remove(key)
		}
	}
}

func (t *texts) remove(key textKey) {
	t.size -= len(t.entries[key])
	delete(t.entries, key)
}
