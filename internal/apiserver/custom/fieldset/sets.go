package fieldset

import (
	"bytes"
	"hash/maphash"
	"reflect"
	"sync"
	"unsafe"

	"holdfast.dev/holdfast/internal/apiserver/bounded"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

const (
	// limit is the size of the texts of all kept sets of a server, in bytes. A set takes about six times the memory of its text.
	limit = 4 << 20
	// largest is the size of the text of the largest set that is kept.
	largest = 64 << 10
)

// Sets keeps sets of fields with their texts. A nil *Sets keeps nothing.
type Sets struct {
	format text.Format
	seed   maphash.Seed
	byText *bounded.Cache[uint64, set]

	mu sync.Mutex
	// bySet has the texts of the kept sets. The key identifies a map in memory, which stays there as long as byText holds it.
	bySet map[unsafe.Pointer][]byte
}

// set is a set of fields and its text, as the format writes it.
type set struct {
	fields map[string]any
	text   []byte
}

// newSets returns the quick form: sets that are kept, and a format that takes them from there.
func newSets() (*Sets, text.Format) {
	s := &Sets{seed: maphash.MakeSeed(), bySet: map[unsafe.Pointer][]byte{}}
	s.byText = bounded.New(bounded.Config[uint64, set]{Name: "fieldsets", Limit: limit, Largest: largest, Removed: s.removed})
	s.format = &text.JSON{Known: s}
	return s, s.format
}

// Caches returns the cache of the sets, for metrics.
func (s *Sets) Caches() []bounded.Measured {
	if s == nil {
		return nil
	}
	return []bounded.Measured{s.byText}
}

// Share replaces the sets of an object by kept ones. The caller owns the entries of the managedFields.
func (s *Sets) Share(obj map[string]any) {
	if s == nil {
		return
	}
	for _, entry := range Entries(obj) {
		if fields, ok := entry["fieldsV1"].(map[string]any); ok && fields != nil {
			if known, ok := s.Equal(fields); ok {
				entry["fieldsV1"] = known
			}
		}
	}
}

// Equal returns the kept set that is equal to a set. A set that is not kept yet is kept from now on. Equal returns false for a set that
// cannot be kept.
func (s *Sets) Equal(fields map[string]any) (map[string]any, bool) {
	if s == nil {
		return nil, false
	}
	if s.TextOf(fields) != nil {
		return fields, true
	}
	text, err := s.format.Append(make([]byte, 0, TextSize(fields)), fields)
	if err != nil || len(text) > largest || !OnlyObjects(fields) {
		return nil, false
	}
	if known := s.Find(text); known != nil {
		return known, true
	}
	kept := set{fields: fields, text: bytes.Clone(text)}
	s.mu.Lock()
	s.bySet[pointerTo(fields)] = kept.text
	s.mu.Unlock()
	s.byText.Add(maphash.Bytes(s.seed, text), kept, len(text))
	return fields, true
}

// Decode returns the set with a text. The result is shared.
func (s *Sets) Decode(text []byte) (map[string]any, error) {
	if known := s.Find(text); known != nil {
		return known, nil
	}
	fields, err := s.format.Decode(text)
	if err != nil || fields == nil {
		return fields, err
	}
	// The text may have another order of the keys, or spaces.
	if shared, ok := s.Equal(fields); ok {
		fields = shared
	}
	return fields, nil
}

// Find returns the kept set with a text, nil if there is none.
func (s *Sets) Find(text []byte) map[string]any {
	if len(text) > largest {
		return nil
	}
	known, _ := s.byText.Get(maphash.Bytes(s.seed, text), func(known set) bool { return bytes.Equal(known.text, text) })
	return known.fields
}

// TextOf returns the text of a kept set, nil for any other map. It is shared, so no code may change it.
func (s *Sets) TextOf(fields map[string]any) []byte {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bySet[pointerTo(fields)]
}

// removed forgets the text of a set that left the cache. The set is still in memory, so no other map has its address.
func (s *Sets) removed(_ uint64, left set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.bySet, pointerTo(left.fields))
}

func pointerTo(fields map[string]any) unsafe.Pointer { return reflect.ValueOf(fields).UnsafePointer() }
