package schema

import (
	"strconv"
	"strings"
)

// Path is where something stands in a definition, written as Kubernetes writes
// it: properties[spec].items.x-kubernetes-immutable. The nil Path is the root of
// the schema. Paths share their beginnings and never change.
type Path struct {
	parent *Path
	name   string
	index  int
	kind   step
}

type step uint8

const (
	childStep step = iota
	keyStep
	indexStep
)

// Child is the keyword name of the node at p.
func (p *Path) Child(name string) *Path { return &Path{parent: p, name: name} }

// Key is the entry name of the map at p.
func (p *Path) Key(name string) *Path { return &Path{parent: p, name: name, kind: keyStep} }

// Index is the item i of the list at p.
func (p *Path) Index(i int) *Path { return &Path{parent: p, index: i, kind: indexStep} }

// Parent is the path without its last step, nil for the root.
func (p *Path) Parent() *Path {
	if p == nil {
		return nil
	}
	return p.parent
}

// Last is the keyword or name of the last step, empty for an index or the root.
func (p *Path) Last() string {
	if p == nil {
		return ""
	}
	return p.name
}

// String is the path as people read it; the root is the empty string.
func (p *Path) String() string {
	if p == nil {
		return ""
	}
	var steps []*Path
	for q := p; q != nil; q = q.parent {
		steps = append(steps, q)
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		steps[i].write(&b)
	}
	return b.String()
}

func (p *Path) write(b *strings.Builder) {
	switch p.kind {
	case keyStep:
		b.WriteByte('[')
		b.WriteString(p.name)
		b.WriteByte(']')
	case indexStep:
		b.WriteByte('[')
		b.WriteString(strconv.Itoa(p.index))
		b.WriteByte(']')
	default:
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(p.name)
	}
}
