package stored

// place is the place of the schema of a version in the text of a definition. version is its index.
type place struct{ version, start, end int }

// findSchemas returns the places of the schemas in the text of a definition, in their order. It returns false if the text is no valid
// JSON, or has something that it does not expect.
func findSchemas(data []byte) ([]place, bool) {
	f := &finder{scanner: scanner{data: data}}
	ok := f.object(map[string]func() bool{"spec": f.spec})
	f.space()
	return f.found, ok && f.at == len(data)
}

// finder finds schemas in a text.
type finder struct {
	scanner
	found   []place
	version int
}

func (f *finder) spec() bool { return f.object(map[string]func() bool{"versions": f.versions}) }

func (f *finder) versions() bool {
	inVersion := map[string]func() bool{"schema": f.validation}
	return f.list(func(i int) bool {
		f.version = i
		return f.object(inVersion)
	})
}

func (f *finder) validation() bool {
	return f.object(map[string]func() bool{"openAPIV3Schema": f.schema})
}

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

// object scans an object. It calls a function for the values of some keys. Another value than an object is scanned too. It returns false if
// one of these keys occurs twice, or if a key is not written as usual.
func (f *finder) object(wanted map[string]func() bool) bool {
	if f.space(); f.next() != '{' {
		return f.value(0)
	}
	f.at++
	seen := 0
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
		if inside := wanted[string(key)]; inside != nil {
			seen++
			return seen == 1 && inside() // there is one wanted key
		}
		return f.value(0)
	})
}

// list scans a list. It calls a function for each item. Another value than a list is scanned too.
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
