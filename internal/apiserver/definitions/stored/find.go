package stored

// place is the place of the schema of a version in the text of a definition. version is its index.
type place struct{ version, start, end int }

// findSchemas returns the places of the schemas in the text of a definition, in their order. It returns false if the text is no valid
// JSON, or has something that it does not expect.
func findSchemas(data []byte) ([]place, bool) {
	f := &finder{scanner: scanner{data: data}}
	ok := f.object("spec", f.spec)
	f.space()
	return f.found, ok && f.at == len(data)
}

// finder finds schemas in a text.
type finder struct {
	scanner
	found   []place
	version int
}

func (f *finder) spec() bool { return f.object("versions", f.versions) }

func (f *finder) versions() bool {
	return f.list(func(i int) bool {
		f.version = i
		return f.object("schema", f.validation)
	})
}

func (f *finder) validation() bool { return f.object("openAPIV3Schema", f.schema) }

// schema scans a schema. Only an object is cut out.
func (f *finder) schema() bool {
	start := f.at
	if f.next() != '{' {
		return f.value(0)
	}
	if !f.value(0) {
		return false
	}
	f.found = append(f.found, place{f.version, start, f.at})
	return true
}

// object scans an object, and calls a function for the value of one key. A value that is no object is only scanned. It returns false if the
// key occurs twice, or if a key is not written as usual.
func (f *finder) object(wanted string, inside func() bool) bool {
	if f.space(); f.next() != '{' {
		return f.value(0)
	}
	f.at++
	seen := false
	return f.items('}', func(int) bool {
		start := f.at
		if !f.text() {
			return false
		}
		key := f.data[start+1 : f.at-1]
		for _, c := range key {
			if c == '\\' || c >= 0x80 {
				return false
			}
		}
		if !f.skip(':') {
			return false
		}
		if string(key) != wanted {
			return f.value(0)
		}
		twice := seen
		seen = true
		return !twice && inside()
	})
}

// list scans a list, and calls a function for each item. A value that is no list is only scanned.
func (f *finder) list(item func(i int) bool) bool {
	if f.space(); f.next() != '[' {
		return f.value(0)
	}
	f.at++
	return f.items(']', item)
}

// items scans what is between commas, until a closing bracket.
func (f *finder) items(closing byte, item func(i int) bool) bool {
	if f.skip(closing) {
		return true
	}
	for i := 0; ; i++ {
		f.space()
		if !item(i) {
			return false
		}
		if f.skip(closing) {
			return true
		}
		if !f.skip(',') {
			return false
		}
	}
}
