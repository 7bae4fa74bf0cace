package custom

import (
	"bytes"
	"hash/maphash"
	"maps"
	"sync"
)

const (
	// maxTrees is the size of the stored texts of all cached trees of a server, in bytes.
	// A tree takes about six times the memory of its text. Most cached trees belong to
	// objects that the watch cache keeps in any case.
	maxTrees = 16 << 20
	// maxTreeText is the size of the text of the largest tree that is cached.
	maxTreeText = 256 << 10
)

// trees caches decoded objects, so that the server decodes a stored text once. The text of
// an object comes back from etcd several times: in the answer to a write, in the event of
// the write, as the old object in the event of the next write, and in each GET.
//
// Objects from the cache share their content. Only the maps of the object and of its
// metadata belong to the caller, see share. All other values of a stored object must never
// be changed in place. A build with the tag frozen, or with the race detector, checks this:
// it stops with a panic if a cached tree was changed.
//
// When the cache is full, it removes entries in the random order of Go's maps.
type trees struct {
	seed    maphash.Seed
	mu      sync.Mutex
	entries map[treeKey]tree
	size    int
}

// treeKey identifies a tree. Each version of a resource has its own trees, and a changed
// definition has new versions.
type treeKey struct {
	version *version
	hash    uint64
}

// tree is a decoded and completed object, with the text that it was decoded from.
type tree struct {
	text    []byte
	content map[string]any
	// valid is that of the object.
	valid  *version
	frozen frozenContent
}

func newTrees() *trees { return &trees{seed: maphash.MakeSeed(), entries: map[treeKey]tree{}} }

// get returns the object with a stored text, or nil. The caller may change the maps of the object
// and of its metadata, and no other value.
func (t *trees) get(v *version, text []byte) *object {
	key := t.key(v, text)
	t.mu.Lock()
	found, ok := t.entries[key]
	t.mu.Unlock()
	if !ok || !bytes.Equal(found.text, text) {
		return nil
	}
	found.frozen.check()
	obj := objectOf(share(found.content))
	obj.valid = found.valid
	return obj
}

// add caches the object that a stored text is decoded and completed to. The caller may
// then change only what it may change after get, and does not change the text.
func (t *trees) add(v *version, text []byte, obj *object) {
	if len(text) > maxTreeText {
		return
	}
	key := t.key(v, text)
	t.mu.Lock()
	defer t.mu.Unlock()
	if found, ok := t.entries[key]; ok && bytes.Equal(found.text, text) {
		return
	}
	added := tree{text: text, content: share(obj.Object), valid: obj.valid, frozen: freeze(obj.Object)}
	t.remove(key)
	for other := range t.entries {
		if t.size+len(text) <= maxTrees {
			break
		}
		t.remove(other)
	}
	t.entries[key] = added
	t.size += len(text)
}

// drop removes the trees of a version.
func (t *trees) drop(v *version) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.entries {
		if key.version == v {
			t.remove(key)
		}
	}
}

func (t *trees) remove(key treeKey) {
	t.size -= len(t.entries[key].text)
	delete(t.entries, key)
}

func (t *trees) key(v *version, text []byte) treeKey {
	return treeKey{version: v, hash: maphash.Bytes(t.seed, text)}
}

// share returns a copy of an object with maps of its own for the object and its metadata.
// The setters of metav1.Object and the strategies change only these.
func share(content map[string]any) map[string]any {
	out := maps.Clone(content)
	if metadata, ok := out["metadata"].(map[string]any); ok {
		out["metadata"] = maps.Clone(metadata)
	}
	return out
}
