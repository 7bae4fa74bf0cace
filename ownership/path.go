package ownership

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Path is where a field stands in an object, in the words of the view that found
// it.
type Path []Step

// Step is one part of a path: a name, an item of a list by its keys, or a member
// of a list of distinct scalars.
type Step struct {
	// Name of a field or a key of a map; it is only valid if the rest is unset.
	Name string
	// Keys and Item name an item: the values that Item has for Keys.
	Keys []string
	Item map[string]any
	// Member is a scalar of a list.
	Member any
}

// maxPath is how many runes of a path are written; the middle of a longer one is
// left out.
const maxPath = 512

// String is the path as people read it:
// .spec.template.spec.containers[name="web"].image.
func (p Path) String() string {
	var b strings.Builder
	for _, step := range p {
		step.write(&b)
		if b.Len() > maxPath*utf8.UTFMax*2 {
			break
		}
	}
	text := b.String()
	if utf8.RuneCountInString(text) <= maxPath {
		return text
	}
	runes := []rune(text)
	return string(runes[:maxPath-1]) + "…"
}

// within says whether p is other or a place inside of it.
func (p Path) within(other Path) bool {
	if len(p) < len(other) {
		return false
	}
	for i := range other {
		if !p[i].same(other[i]) {
			return false
		}
	}
	return true
}

func (s Step) isName() bool { return s.Keys == nil && s.Member == nil }

func (s Step) same(other Step) bool {
	switch {
	case s.Keys != nil:
		return other.Keys != nil && sameKeys(s.Keys, s.Item, other.Item)
	case s.Member != nil:
		return other.Member != nil && equal(s.Member, other.Member)
	}
	return other.isName() && s.Name == other.Name
}

func (s Step) write(b *strings.Builder) {
	switch {
	case s.Keys != nil:
		b.WriteByte('[')
		for i, key := range s.Keys {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(key + "=" + brief(s.Item[key]))
		}
		b.WriteByte(']')
	case s.Member != nil:
		b.WriteString("[=" + brief(s.Member) + "]")
	case isIdentifier(s.Name):
		b.WriteString("." + s.Name)
	default:
		name := s.Name
		if len(name) > maxPath {
			name = strings.ToValidUTF8(name[:maxPath], "") + "…"
		}
		b.WriteString("[" + strconv.Quote(name) + "]")
	}
}

// isIdentifier says whether a name can follow a dot without being mistaken for
// more than one.
func isIdentifier(name string) bool {
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '$':
		case i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxPath
}
