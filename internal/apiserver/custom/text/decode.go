package text

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

const (
	// maxDepth is how deep the values are that a reader decodes.
	maxDepth = 200
	// maxName is the length of the longest string that a reader looks for in its cache.
	maxName = 64
	// names is the number of strings in the cache, a power of two.
	names = 1024

	// The depths of metadata, of managedFields in it, and of the sets of fields in these.
	depthOfMetadata, depthOfManagers, depthOfSets = 1, 2, 4
)

// reader decodes one object. It decodes what clients of Kubernetes usually send, several times as fast as
// encoding/json does, and gives up on everything else: a duplicate key, a value that is nested too deeply,
// an error. JSON then decodes the text with the library, which has the error messages. FuzzJSON compares
// both.
type reader struct {
	data []byte
	at   int
	// known is that of JSON.
	known Known
	// inMetadata and inManagers say that the current value is below metadata, and below the managedFields in it.
	inMetadata, inManagers bool
	// cached are strings that were decoded before, by their hash. The names of fields, and most values
	// of enumerations, are the same in all objects.
	cached [names]string
}

// read decodes a text that is one object. The result shares no memory with the text.
func (r *reader) read(data []byte) (obj map[string]any, ok bool) {
	r.data, r.at, r.inMetadata, r.inManagers = data, 0, false, false
	defer func() { r.data = nil }()
	r.space()
	if obj, ok = r.object(0); !ok {
		return nil, false
	}
	r.space()
	return obj, r.at == len(r.data)
}

// next returns the next byte, 0 at the end.
func (r *reader) next() byte {
	if r.at < len(r.data) {
		return r.data[r.at]
	}
	return 0
}

// space skips spaces.
func (r *reader) space() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ' ', '\n', '\t', '\r':
			r.at++
		default:
			return
		}
	}
}

// skip skips one byte after spaces, and the spaces after it. It reports whether the byte is there.
func (r *reader) skip(c byte) bool {
	r.space()
	if r.next() != c {
		return false
	}
	r.at++
	r.space()
	return true
}

func (r *reader) value(depth int) (any, bool) {
	switch r.next() {
	case '{':
		return r.object(depth)
	case '[':
		return r.list(depth)
	case '"':
		return r.string()
	case 't':
		return true, r.word("true")
	case 'f':
		return false, r.word("false")
	case 'n':
		return nil, r.word("null")
	}
	return r.number()
}

func (r *reader) object(depth int) (map[string]any, bool) {
	if depth > maxDepth || !r.skip('{') {
		return nil, false
	}
	obj := map[string]any{}
	if r.next() == '}' {
		r.at++
		return obj, true
	}
	for {
		key, ok := r.string()
		if !ok || !r.skip(':') {
			return nil, false
		}
		value, ok := r.field(key, depth+1)
		if !ok {
			return nil, false
		}
		size := len(obj)
		if obj[key] = value; len(obj) == size {
			return nil, false // a duplicate key
		}
		r.space()
		switch r.next() {
		case ',':
			r.at++
			r.space()
		case '}':
			r.at++
			return obj, true
		default:
			return nil, false
		}
	}
}

// field decodes the value of a field. It does not decode a set of fields that the caller has.
func (r *reader) field(name string, depth int) (any, bool) {
	switch depth {
	case depthOfMetadata:
		r.inMetadata, r.inManagers = name == "metadata", false
	case depthOfManagers:
		r.inManagers = r.inMetadata && name == "managedFields"
	case depthOfSets:
		if r.inManagers && name == "fieldsV1" && r.known != nil {
			if known := r.find(); known != nil {
				return known, true
			}
		}
	}
	return r.value(depth)
}

// find returns the object that begins here if the caller has it, and skips it.
func (r *reader) find() map[string]any {
	end, ok := endOfObject(r.data[r.at:])
	if !ok {
		return nil
	}
	known := r.known.Find(r.data[r.at : r.at+end])
	if known != nil {
		r.at += end
	}
	return known
}

// endOfObject returns the length of the object at the beginning of a text. It does not check that the object is valid.
func endOfObject(text []byte) (int, bool) {
	open := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return i + 1, true
			}
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
		if open == 0 {
			return 0, false // not an object
		}
	}
	return 0, false
}

func (r *reader) list(depth int) ([]any, bool) {
	if depth > maxDepth || !r.skip('[') {
		return nil, false
	}
	items := []any{}
	if r.next() == ']' {
		r.at++
		return items, true
	}
	for {
		value, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		items = append(items, value)
		r.space()
		switch r.next() {
		case ',':
			r.at++
			r.space()
		case ']':
			r.at++
			return items, true
		default:
			return nil, false
		}
	}
}

func (r *reader) word(word string) bool {
	if len(r.data)-r.at < len(word) || string(r.data[r.at:r.at+len(word)]) != word {
		return false
	}
	r.at += len(word)
	return true
}

// string decodes a string. One with escapes goes through encoding/json.
func (r *reader) string() (string, bool) {
	if r.next() != '"' {
		return "", false
	}
	begin, plain := r.at, true
	for i := begin + 1; i < len(r.data); i++ {
		switch c := r.data[i]; {
		case c == '"':
			r.at = i + 1
			if plain {
				return r.text(r.data[begin+1 : i]), true
			}
			return unquote(r.data[begin:r.at])
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			return "", false
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	return "", false
}

// unquote decodes a string with escapes, or with other letters than those of ASCII.
func unquote(quoted []byte) (s string, ok bool) {
	err := json.Unmarshal(quoted, &s)
	return s, err == nil
}

// text returns a string, from the cache if possible.
func (r *reader) text(s []byte) string {
	if len(s) == 0 || len(s) > maxName {
		return string(s)
	}
	// FNV-1a. A bad hash costs an allocation and nothing else.
	hash := uint32(2166136261)
	for _, c := range s {
		hash = (hash ^ uint32(c)) * 16777619
	}
	slot := &r.cached[(hash^hash>>16)%names]
	if *slot != string(s) {
		*slot = string(s)
	}
	return *slot
}

// number decodes a number. Integers stay integers.
func (r *reader) number() (any, bool) {
	begin := r.at
	isInteger, ok := r.digits()
	if !ok {
		return nil, false
	}
	text := string(r.data[begin:r.at])
	if isInteger {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, true
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

// digits skips a number and reports whether it is one, and whether it is an integer.
func (r *reader) digits() (isInteger, ok bool) {
	if r.next() == '-' {
		r.at++
	}
	switch c := r.next(); {
	case c == '0':
		r.at++
	case !r.digit():
		return false, false
	}
	isInteger = true
	if r.next() == '.' {
		r.at++
		if isInteger = false; !r.digit() {
			return false, false
		}
	}
	if c := r.next(); c == 'e' || c == 'E' {
		r.at++
		if c := r.next(); c == '+' || c == '-' {
			r.at++
		}
		if isInteger = false; !r.digit() {
			return false, false
		}
	}
	return isInteger, true
}

// digit skips at least one digit, and reports whether there is one.
func (r *reader) digit() bool {
	begin := r.at
	for c := r.next(); c >= '0' && c <= '9'; c = r.next() {
		r.at++
	}
	return r.at > begin
}
