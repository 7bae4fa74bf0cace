package custom

import (
	"bytes"
	"hash/maphash"
	"reflect"
	"sync"
	"unsafe"
)

const (
	// maxFieldSets is the size of the texts of all cached sets of a server, in bytes. A set takes
	// about six times the memory of its text.
	maxFieldSets = 4 << 20
	// maxFieldSet is the size of the text of the largest set that is cached.
	maxFieldSet = 64 << 10
)

// fieldSets caches the sets of fields in managedFields, with their texts. Most writes change no set, and
// the objects that one program creates have equal sets. So the server keeps one copy of a set for all
// objects, and does not convert it from text and to text each time: the handlers ask for both several
// times for each update.
//
// A set from the cache is shared. No code may change it in place.
//
// When the cache is full, it removes entries in the random order of Go's maps.
type fieldSets struct {
	format format
	seed   maphash.Seed
	mu     sync.Mutex
	byText map[uint64]fieldSet
	// bySet has the texts of the cached sets. The key identifies a map in memory, which stays there
	// as long as the cache holds it.
	bySet map[unsafe.Pointer][]byte
	size  int
}

// fieldSet is a set of fields and its text, as the format writes it.
type fieldSet struct {
	fields map[string]any
	text   []byte
}

func newFieldSets(f format) *fieldSets {
	return &fieldSets{format: f, seed: maphash.MakeSeed(), byText: map[uint64]fieldSet{}, bySet: map[unsafe.Pointer][]byte{}}
}

// share replaces the sets of an object by cached ones. The caller owns the entries of the managedFields.
func (s *fieldSets) share(obj map[string]any) {
	for _, entry := range managedEntries(obj) {
		if fields, ok := entry["fieldsV1"].(map[string]any); ok && fields != nil {
			if known, ok := s.equal(fields); ok {
				entry["fieldsV1"] = known
			}
		}
	}
}

// equal returns the cached set that is equal to a set. A set that is not in the cache yet is put into it.
func (s *fieldSets) equal(fields map[string]any) (map[string]any, bool) {
	if s.TextOf(fields) != nil {
		return fields, true
	}
	text, err := s.format.Append(make([]byte, 0, textSize(fields)), fields)
	if err != nil || len(text) > maxFieldSet || !onlyObjects(fields) {
		return nil, false
	}
	key := maphash.Bytes(s.seed, text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.byText[key]; ok && bytes.Equal(known.text, text) {
		return known.fields, true
	}
	s.add(key, fieldSet{fields: fields, text: bytes.Clone(text)})
	return fields, true
}

// decode returns the set with a text. The result is shared.
func (s *fieldSets) decode(text []byte) (map[string]any, error) {
	if known := s.find(text); known != nil {
		return known, nil
	}
	fields, err := s.format.Decode(text)
	if err != nil || fields == nil {
		return fields, err
	}
	// The text may have another order of the keys, or spaces.
	if shared, ok := s.equal(fields); ok {
		fields = shared
	}
	return fields, nil
}

// find returns the cached set with a text, nil if there is none.
func (s *fieldSets) find(text []byte) map[string]any {
	if len(text) > maxFieldSet {
		return nil
	}
	key := maphash.Bytes(s.seed, text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.byText[key]; ok && bytes.Equal(known.text, text) {
		return known.fields
	}
	return nil
}

// TextOf returns the text of a cached set, nil for any other map. It is shared, so no code may change it.
func (s *fieldSets) TextOf(fields map[string]any) []byte {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bySet[pointerTo(fields)]
}

// add puts a set into the cache. The caller holds the lock.
func (s *fieldSets) add(key uint64, set fieldSet) {
	s.remove(key)
	for other := range s.byText {
		if s.size+len(set.text) <= maxFieldSets {
			break
		}
		s.remove(other)
	}
	s.byText[key] = set
	s.bySet[pointerTo(set.fields)] = set.text
	s.size += len(set.text)
}

func (s *fieldSets) remove(key uint64) {
	if set, ok := s.byText[key]; ok {
		s.size -= len(set.text)
		delete(s.byText, key)
		delete(s.bySet, pointerTo(set.fields))
	}
}

func pointerTo(fields map[string]any) unsafe.Pointer { return reflect.ValueOf(fields).UnsafePointer() }
