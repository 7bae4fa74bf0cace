package custom

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/apiserver/deflate"
)

const (
	// maxTexts is the size of all cached texts of a server, in bytes, with their compressed
	// forms.
	maxTexts = 64 << 20
	// maxText is the size of the largest text that is cached, with its compressed form.
	maxText = 1 << 20
)

// texts caches the JSON text of stored objects, so that a GET, LIST or WATCH of an object that
// was read before does not encode it again. UID and resourceVersion identify the content
// of a stored object. They do not identify the result of a dry run, nor the object
// of a DELETED event that a watch sends when an object no longer matches its selector, nor
// the object without managed fields that goes to the audit log. Therefore only the answers to
// GET and LIST, and events of other types, use the cache. See readScope.
//
// When the cache is full, it removes entries in the random order of Go's maps. A LIST of
// more objects than the cache holds would remove every entry before its next use if the
// cache removed the oldest entries first.
type texts struct {
	mu      sync.Mutex
	entries map[textKey]cachedText
	size    int
}

// textKey identifies an object. Each version of a resource has its own texts, and a changed
// definition has new versions.
type textKey struct {
	version *version
	uid     types.UID
	// partial is the version of meta.k8s.io in which the text holds only the metadata. It is
	// empty if the text holds the whole object.
	partial string
}

// cachedText is the text of an object. The caller of the cache changes none of the slices.
type cachedText struct {
	resourceVersion string
	// plain is the JSON text. It is nil if the object is not in the cache.
	plain []byte
	// event is the text of the MODIFIED event with the object, nil if no watch sent one. Then plain
	// is a part of it.
	event []byte
	// packed is the compressed text. It is the zero Piece if no client asked for it.
	packed deflate.Piece
}

func (t cachedText) size() int { return max(len(t.plain), len(t.event)) + t.packed.Len() }

// get returns the text of an object at a resourceVersion.
func (t *texts) get(key textKey, resourceVersion string) cachedText {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := t.entries[key]; text.resourceVersion == resourceVersion {
		return text
	}
	return cachedText{}
}

// add caches a text, in place of the text of the object at another resourceVersion.
func (t *texts) add(key textKey, text cachedText) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(key)
	if text.size() > maxText {
		return
	}
	if t.entries == nil {
		t.entries = map[textKey]cachedText{}
	}
	for other := range t.entries {
		if t.size+text.size() <= maxTexts {
			break
		}
		t.remove(other)
	}
	t.entries[key] = text
	t.size += text.size()
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
	t.size -= t.entries[key].size()
	delete(t.entries, key)
}
