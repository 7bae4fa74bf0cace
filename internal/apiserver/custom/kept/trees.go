package kept

import (
	"bytes"
	"hash/maphash"

	"holdfast.dev/holdfast/internal/apiserver/bounded"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/definition"
)

const (
	// limit is the size of the stored texts of all kept trees of a server, in bytes. A tree takes about six times the memory of its
	// text. Most kept trees belong to objects that the watch cache keeps in any case.
	limit = 16 << 20
	// largest is the size of the text of the largest tree that is kept.
	largest = 256 << 10
)

// Trees keeps decoded objects. A nil *Trees keeps nothing.
type Trees struct {
	seed  maphash.Seed
	cache *bounded.Cache[key, tree]
}

// key identifies a tree. Each version of a kind has its own trees, and a changed definition has new versions.
type key struct {
	version *kind.Version
	hash    uint64
}

// tree is a decoded object that conforms, with the text that it was decoded from.
type tree struct {
	text    []byte
	content map[string]any
	// valid is that of the object.
	valid  *definition.Compiled
	frozen object.Frozen
}

// newTrees returns the quick form.
func newTrees() *Trees {
	return &Trees{
		seed:  maphash.MakeSeed(),
		cache: bounded.New(bounded.Config[key, tree]{Name: "trees", Limit: limit, Largest: largest}),
	}
}

// Caches returns the cache of the trees, for metrics.
func (t *Trees) Caches() []bounded.Measured {
	if t == nil {
		return nil
	}
	return []bounded.Measured{t.cache}
}

// Get returns the object with a stored text, or nil. The caller may change the maps of the object and of its metadata, and no other
// value.
func (t *Trees) Get(v *kind.Version, text []byte) *object.Object {
	if t == nil {
		return nil
	}
	found, ok := t.cache.Get(t.key(v, text), func(found tree) bool { return bytes.Equal(found.text, text) })
	if !ok {
		return nil
	}
	found.frozen.Check()
	obj := object.Of(object.Share(found.content))
	obj.Valid = found.valid
	return obj
}

// Add keeps the object that a stored text is decoded to. The caller may then change only what it may change after Get, and does not
// change the text.
func (t *Trees) Add(v *kind.Version, text []byte, obj *object.Object) {
	if t == nil || len(text) > largest {
		return
	}
	added := tree{text: text, content: object.Share(obj.Object), valid: obj.Valid, frozen: object.Freeze(obj.Object)}
	t.cache.Add(t.key(v, text), added, len(text))
}

// Drop forgets the trees of a version.
func (t *Trees) Drop(v *kind.Version) {
	if t != nil {
		t.cache.Remove(func(k key) bool { return k.version == v })
	}
}

func (t *Trees) key(v *kind.Version, text []byte) key {
	return key{version: v, hash: maphash.Bytes(t.seed, text)}
}
