package nesting

// Scanner counts the levels of JSON text that arrives in parts. The zero value is ready to
// use. It does not validate the text: in malformed text it may count too many or too few
// levels.
type Scanner struct {
	// limit is the number of allowed levels; zero means Limit, with an exception for
	// metadata.managedFields.
	limit int

	depth     int
	deepest   int
	inString  bool
	escaped   bool
	inManaged bool
	inMeta    bool

	// The scanner compares the strings at depth 1 with "metadata" and those at depth 2 of
	// metadata with "managedFields". matched is the number of equal bytes so far, or -1 after a
	// difference. wanted is empty if the current string is not compared.
	wanted  string
	matched int
	// isKey says that the last compared string was equal. An opening bracket uses it, and a
	// comma resets it.
	isKey bool
}

// Scan reads the next part of the text. It returns false as soon as the text has too many
// levels, and the scanner must not be used afterwards.
func (s *Scanner) Scan(part []byte) bool {
	for i := 0; i < len(part); i++ {
		c := part[i]
		if s.inString {
			i = s.skipString(part, i)
			continue
		}
		switch c {
		case '"':
			s.beginString()
		case '{', '[':
			if !s.open() {
				return false
			}
		case '}', ']':
			s.close()
		case ',':
			s.isKey = false
		}
	}
	return true
}

// JSON returns an error if JSON text has too many levels.
func JSON(text []byte) error {
	var s Scanner
	if !s.Scan(text) {
		return Error{What: "the JSON"}
	}
	return nil
}

// beginString begins a string, and decides whether it is compared.
func (s *Scanner) beginString() {
	s.inString, s.wanted, s.matched = true, "", 0
	switch {
	case s.limit != 0:
	case s.depth == 1:
		s.wanted = "metadata"
	case s.depth == 2 && s.inMeta:
		s.wanted = "managedFields"
	}
}

// skipString reads the bytes of a string from index i, and returns the index of the last byte
// that it read.
func (s *Scanner) skipString(part []byte, i int) int {
	for ; i < len(part); i++ {
		c := part[i]
		if s.wanted == "" && !s.escaped && c != '"' && c != '\\' {
			continue
		}
		switch {
		case s.escaped:
			s.escaped, s.matched = false, -1
		case c == '\\':
			s.escaped, s.matched = true, -1
		case c == '"':
			s.inString = false
			if s.wanted != "" && !s.isKey {
				s.isKey = s.matched == len(s.wanted)
			}
			return i
		case s.wanted != "" && s.matched >= 0:
			if s.matched < len(s.wanted) && s.wanted[s.matched] == c {
				s.matched++
			} else {
				s.matched = -1
			}
		}
	}
	return i
}

// open begins a level, and reports whether it is within the limit.
func (s *Scanner) open() bool {
	switch {
	case s.depth == 1:
		s.inMeta = s.isKey
	case s.depth == 2:
		s.inManaged = s.inMeta && s.isKey
	}
	s.isKey = false
	s.depth++
	s.deepest = max(s.deepest, s.depth)
	return s.depth <= s.allowed()
}

func (s *Scanner) allowed() int {
	switch {
	case s.limit != 0:
		return s.limit
	case s.inManaged:
		return Limit + managedLevels
	}
	return Limit
}

// close ends a level.
func (s *Scanner) close() {
	if s.depth > 0 {
		s.depth--
	}
	s.isKey = false
	switch s.depth {
	case 1:
		s.inMeta = false
	case 2:
		s.inManaged = false
	}
}
