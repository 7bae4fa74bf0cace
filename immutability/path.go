package immutability

import (
	"strconv"
	"strings"
)

// Path is where a value stands in an object: spec.ports[name="http"].port. An
// item of a list of type map is named by its keys, the second with the same keys
// by [name="http",#2], one without keys by [#1]; a scalar of a set is named by its
// value, [="a"], and any other item by its index, [3]. Paths share their beginnings, so that a
// violation costs the same memory at any depth, and never change. The nil Path
// is the object itself.
type Path struct {
	parent *Path
	step   step
}

type stepKind uint8

const (
	nameStep  stepKind = iota // a property or a key of a map
	indexStep                 // an item by its position
	keyedStep                 // an item of a list of type map
	valueStep                 // an item of a set
)

type step struct {
	kind  stepKind
	index int    // of indexStep; of keyedStep the number of earlier items with the same keys
	name  string // of nameStep
	item  any    // of keyedStep and valueStep
	keys  []string
}

const (
	// maxPath bounds what String writes: the middle of a longer path is left
	// out, so that many violations below one absurd key stay printable.
	maxPath = 1024
	// maxName is longer than any qualified label key.
	maxName = 320
)

// String is the path as people read it, at most about a kilobyte; the object
// itself is the empty string.
func (p *Path) String() string {
	var steps []*Path
	for q := p; q != nil; q = q.parent {
		steps = append(steps, q)
	}
	var head, tail []string
	written := 0
	for i, j := len(steps)-1, 0; i >= j; {
		first := steps[i].step.text(i == len(steps)-1)
		i--
		head, written = append(head, first), written+len(first)
		if i < j {
			break
		}
		last := steps[j].step.text(false)
		j++
		tail, written = append(tail, last), written+len(last)
		if written > maxPath && i >= j {
			tail = append(tail, "…")
			break
		}
	}
	var b strings.Builder
	for _, text := range head {
		b.WriteString(text)
	}
	for i := len(tail) - 1; i >= 0; i-- {
		b.WriteString(tail[i])
	}
	return b.String()
}

// text is the step as written in a path; the first name of a path has no dot.
func (s step) text(first bool) string {
	switch s.kind {
	case indexStep:
		return "[" + strconv.Itoa(s.index) + "]"
	case valueStep:
		return "[=" + brief(s.item) + "]"
	case keyedStep:
		return s.keyed()
	}
	switch {
	case !isIdentifier(s.name):
		return "[" + quote(s.name) + "]"
	case first:
		return s.name
	}
	return "." + s.name
}

func (s step) keyed() string {
	var b strings.Builder
	b.WriteByte('[')
	object, _ := s.item.(map[string]any)
	for _, key := range s.keys {
		value, present := object[key]
		if !present {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(key + "=" + brief(value))
	}
	switch {
	case b.Len() == 1:
		b.WriteString("#" + strconv.Itoa(s.index+1))
	case s.index > 0:
		b.WriteString(",#" + strconv.Itoa(s.index+1))
	}
	b.WriteByte(']')
	return b.String()
}

// isIdentifier says whether a name can follow a dot without being mistaken for
// more than one name.
func isIdentifier(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '$':
		case i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return true
}

func quote(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return strconv.Quote(name)
}
