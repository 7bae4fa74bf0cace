package requestbody

import (
	"bytes"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind finds the kind of an object in JSON without decoding it. It reads only the names of the outer fields and skips their values. It
// returns false if the text is unusual, such as one with a field twice. It does not notice all errors of syntax, so the caller
// decodes the text afterwards.
func Kind(text []byte) (schema.GroupVersionKind, bool) {
	s := skipper{rest: text}
	var found [2]string
	if !s.take('{') {
		return schema.GroupVersionKind{}, false
	}
	for more := true; more; more = s.take(',') {
		name, ok := s.plain()
		if !ok || !s.take(':') {
			return schema.GroupVersionKind{}, false
		}
		i := 0
		switch {
		case name == "kind":
			i = 1
		case name == "apiVersion":
		case strings.EqualFold(name, "kind"), strings.EqualFold(name, "apiVersion"), !s.value():
			// The library takes a name in any case.
			return schema.GroupVersionKind{}, false
		default:
			continue
		}
		value, ok := s.plain()
		if !ok || value == "" || found[i] != "" {
			return schema.GroupVersionKind{}, false
		}
		found[i] = value
	}
	gv, err := schema.ParseGroupVersion(found[0])
	return gv.WithKind(found[1]), err == nil && found[0] != "" && found[1] != "" && s.take('}')
}

// skipper reads JSON text.
type skipper struct{ rest []byte }

// take skips spaces and the byte c. It returns false if another byte follows.
func (s *skipper) take(c byte) bool {
	s.rest = bytes.TrimLeft(s.rest, " \n\t\r")
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// plain reads a string. It returns false for one with escapes, control characters or characters beyond ASCII.
func (s *skipper) plain() (string, bool) {
	if !s.take('"') {
		return "", false
	}
	for i, c := range s.rest {
		switch {
		case c == '"':
			value := string(s.rest[:i])
			s.rest = s.rest[i+1:]
			return value, true
		case c == '\\', c < ' ', c > '~':
			return "", false
		}
	}
	return "", false
}

// value skips a value. It returns false at the end of the text.
func (s *skipper) value() bool {
	for depth := 0; ; {
		i := bytes.IndexAny(s.rest, `"{}[],`)
		if i < 0 {
			return false
		}
		c := s.rest[i]
		if depth == 0 && (c == ',' || c == '}') {
			s.rest = s.rest[i:]
			return true
		}
		s.rest = s.rest[i+1:]
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			if !s.skipString() {
				return false
			}
		}
	}
}

// skipString skips the rest of a string.
func (s *skipper) skipString() bool {
	for {
		i := bytes.IndexByte(s.rest, '"')
		if i < 0 {
			return false
		}
		escapes := i - len(bytes.TrimRight(s.rest[:i], `\`))
		s.rest = s.rest[i+1:]
		if escapes%2 == 0 {
			return true
		}
	}
}
