package value

import (
	"strconv"
	"strings"
)

// Notation says how the text of a path looks. The zero Notation is the plain
// one: spec.ports[name="http"].port.
//
// A name that is no identifier is quoted: metadata.labels["example.com/a"]. The
// items of lists are written like this:
//
//	[name="http"]     the item with this key
//	[name="http",#2]  the second item with this key
//	[#1]              the first item that has none of the keys
//	[="a"]            the item of a set with this value
//	[3]               any other item, by its index
//
// ParsePath reads such a text back, unless a part of it was cut.
type Notation struct {
	// LeadingDot puts a dot before a name at the beginning: .spec.replicas.
	LeadingDot bool
	// Kubernetes writes names without quotes, as Kubernetes does in warnings and
	// errors, and cuts nothing. The text cannot be read back, because a name may
	// have a dot in it.
	Kubernetes bool
	// Values prints the values of keys and members.
	Values Printer
}

const (
	// maxPath is the approximate maximum length of the text of a path, in bytes.
	// The middle of a longer text is left out.
	maxPath = 1024
	// maxName is the maximum number of bytes that are written of a name. Every
	// valid label key is shorter.
	maxName = 320
)

// Path returns the text of a path; the nil Path is the empty string.
func (n Notation) Path(p *Path) string {
	var buffer [16]Step
	return n.Steps(p.appendSteps(buffer[:0]))
}

// Steps returns the text of steps that follow each other.
func (n Notation) Steps(steps []Step) string {
	var b strings.Builder
	for i := range steps {
		n.write(&b, &steps[i], i == 0)
		if b.Len() > maxPath && !n.Kubernetes {
			return n.cut(steps)
		}
	}
	return b.String()
}

// cut returns the text of steps without those in the middle. It takes steps from
// both ends until there is enough text.
func (n Notation) cut(steps []Step) string {
	var head strings.Builder
	var tail []string
	written := 0
	for i, j := 0, len(steps)-1; i <= j; {
		n.write(&head, &steps[i], i == 0)
		i++
		if i > j {
			break
		}
		var last strings.Builder
		n.write(&last, &steps[j], false)
		j--
		tail, written = append(tail, last.String()), written+last.Len()
		if written+head.Len() > maxPath && i <= j {
			tail = append(tail, "…")
			break
		}
	}
	for i := len(tail) - 1; i >= 0; i-- {
		head.WriteString(tail[i])
	}
	return head.String()
}

// write writes one step; first means that no step is before it.
func (n Notation) write(b *strings.Builder, s *Step, first bool) {
	switch s.Kind {
	case Key:
		b.WriteString("[" + s.Name + "]")
	case Index:
		b.WriteString("[" + strconv.Itoa(s.Index) + "]")
	case Item:
		n.writeItem(b, s)
	case Member:
		b.WriteString("[=")
		b.WriteString(n.Values.Print(s.Value))
		b.WriteByte(']')
	case AnyItem:
		b.WriteString("[*]")
	case AnyName:
		n.writeName(b, "*", first)
	default:
		if !n.Kubernetes && !isIdentifier(s.Name) {
			b.WriteString("[" + quoteName(s.Name) + "]")
			return
		}
		n.writeName(b, s.Name, first)
	}
}

func (n Notation) writeName(b *strings.Builder, name string, first bool) {
	if !first || n.LeadingDot {
		b.WriteByte('.')
	}
	b.WriteString(name)
}

func (n Notation) writeItem(b *strings.Builder, s *Step) {
	b.WriteByte('[')
	object, _ := s.Value.(map[string]any)
	separator := ""
	for _, key := range s.Keys {
		v, present := object[key]
		if !present {
			continue
		}
		if !isPlainKey(key) {
			key = quoteName(key)
		}
		b.WriteString(separator)
		b.WriteString(key)
		b.WriteByte('=')
		b.WriteString(n.Values.Print(v))
		separator = ","
	}
	if separator == "" || s.Index > 0 {
		b.WriteString(separator + "#" + strconv.Itoa(s.Index+1))
	}
	b.WriteByte(']')
}

// isIdentifier reports whether a name can follow a dot without being mistaken for
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

// isPlainKey reports whether the key of an item can be written without quotes, so
// that ParsePath reads the same key.
func isPlainKey(key string) bool {
	return key != "" && len(key) <= maxName && !strings.ContainsAny(key, "=,]\"") && key[0] != '#'
}

func quoteName(name string) string {
	return strconv.Quote(CutBytes(name, maxName))
}
