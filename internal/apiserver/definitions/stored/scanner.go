package stored

// maxDepth is how deep the values are that a scanner checks.
const maxDepth = 300

// scanner checks that a text is valid JSON. It accepts what encoding/json accepts, unless a value is nested too deep.
type scanner struct {
	data []byte
	at   int
}

// next returns the next byte, 0 at the end.
func (s *scanner) next() byte {
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

// space skips spaces.
func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\n', '\t', '\r':
			s.at++
		default:
			return
		}
	}
}

// skip skips a byte with the spaces around it. It reports whether the byte is there.
func (s *scanner) skip(c byte) bool {
	if s.space(); s.next() != c {
		return false
	}
	s.at++
	s.space()
	return true
}

// value scans a value.
func (s *scanner) value(depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch s.next() {
	case '{':
		return s.items('}', (*scanner).member, depth+1)
	case '[':
		return s.items(']', (*scanner).value, depth+1)
	case '"':
		return s.text()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

// items scans the items of an object or a list up to its last byte.
func (s *scanner) items(last byte, item func(s *scanner, depth int) bool, depth int) bool {
	s.at++
	if s.skip(last) {
		return true
	}
	for item(s, depth) {
		s.space()
		switch s.next() {
		case last:
			s.at++
			return true
		case ',':
			s.at++
			s.space()
		default:
			return false
		}
	}
	return false
}

// member scans a key and its value.
func (s *scanner) member(depth int) bool { return s.text() && s.skip(':') && s.value(depth) }

// text scans a string.
func (s *scanner) text() bool {
	if s.next() != '"' {
		return false
	}
	data := s.data
	for i := s.at + 1; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			s.at = i + 1
			return true
		case c < ' ':
			return false
		case c == '\\':
			i++
			if i == len(data) || !isEscape(data[i:]) {
				return false
			}
		}
	}
	return false
}

// isEscape reports whether a text begins with what may follow a backslash.
func isEscape(data []byte) bool {
	switch data[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		if len(data) < 5 {
			return false
		}
		for _, c := range data[1:5] {
			if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return false
			}
		}
		return true
	}
	return false
}

func (s *scanner) word(want string) bool {
	if len(s.data)-s.at < len(want) || string(s.data[s.at:s.at+len(want)]) != want {
		return false
	}
	s.at += len(want)
	return true
}

func (s *scanner) number() bool {
	if s.next() == '-' {
		s.at++
	}
	switch {
	case s.next() == '0':
		s.at++
	case !s.digits():
		return false
	}
	if s.next() == '.' {
		s.at++
		if !s.digits() {
			return false
		}
	}
	if s.next()|0x20 == 'e' {
		s.at++
		if s.next() == '+' || s.next() == '-' {
			s.at++
		}
		return s.digits()
	}
	return true
}

// digits scans digits. It reports whether there is one.
func (s *scanner) digits() bool {
	start := s.at
	for isDigit(s.next()) {
		s.at++
	}
	return s.at > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
