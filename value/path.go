package value

import "slices"

// Path names one place in an object, such as spec.ports[name="http"].port. The
// nil Path is the object itself. A Path never changes. It refers to the path of its
// parent, so Append allocates memory for one step only.
type Path struct {
	parent *Path
	kind   StepKind
	name   string
	index  int
	// found is set for Item and Member.
	found *listItem
}

type listItem struct {
	keys  []string
	value any
}

// StepKind says how a step names a value inside of another.
type StepKind uint8

const (
	// Name is a field of an object, or a key of a map.
	Name StepKind = iota
	// Key is an entry of a map in a CustomResourceDefinition. Kubernetes writes it
	// in brackets: properties[spec]. ParsePath cannot read it back.
	Key
	// Index is an item of a list by its position.
	Index
	// Item is an item of a list by the values of some of its fields.
	Item
	// Member is an item of a set by its value.
	Member
	// AnyName is every value of a map. Only patterns have it; see ParsePattern.
	AnyName
	// AnyItem is every item of a list. Only patterns have it; see ParsePattern.
	AnyItem
)

// Step is one step of a path.
type Step struct {
	Kind StepKind
	// Name is the name in a step of the kind Name or Key.
	Name string
	// Index is the position in a step of the kind Index. In a step of the kind Item
	// it is the number of earlier items in the list with the same values for Keys.
	Index int
	// Keys are the fields that identify the item, in a step of the kind Item.
	Keys []string
	// Value is the item itself, in a step of the kind Item or Member. For Item it
	// normally is an object.
	Value any
}

// NewPath returns the path with these steps.
func NewPath(steps ...Step) *Path {
	if len(steps) == 0 {
		return nil
	}
	all := make([]Path, len(steps))
	var parent *Path
	for i, s := range steps {
		all[i] = Path{parent: parent, kind: s.Kind, name: s.Name, index: s.Index}
		if s.Kind == Item || s.Kind == Member {
			all[i].found = &listItem{s.Keys, s.Value}
		}
		parent = &all[i]
	}
	return parent
}

// Append returns the path with one more step.
func (p *Path) Append(s Step) *Path {
	if s.Kind != Item && s.Kind != Member {
		return &Path{parent: p, kind: s.Kind, name: s.Name, index: s.Index}
	}
	// One allocation for both.
	below := &struct {
		path  Path
		found listItem
	}{Path{parent: p, kind: s.Kind, index: s.Index}, listItem{s.Keys, s.Value}}
	below.path.found = &below.found
	return &below.path
}

// Child returns the path of a field.
func (p *Path) Child(name string) *Path { return &Path{parent: p, kind: Name, name: name} }

// Key returns the path of an entry of a map in a CustomResourceDefinition.
func (p *Path) Key(name string) *Path { return &Path{parent: p, kind: Key, name: name} }

// Index returns the path of an item of a list.
func (p *Path) Index(i int) *Path { return &Path{parent: p, kind: Index, index: i} }

// Join returns the path p followed by the steps of other.
func (p *Path) Join(other *Path) *Path {
	for _, s := range other.Steps() {
		p = p.Append(s)
	}
	return p
}

// Parent returns the path without its last step; nil for the nil Path.
func (p *Path) Parent() *Path {
	if p == nil {
		return nil
	}
	return p.parent
}

// Last returns the last step; the zero Step for the nil Path.
func (p *Path) Last() Step {
	if p == nil {
		return Step{}
	}
	s := Step{Kind: p.kind, Name: p.name, Index: p.index}
	if p.found != nil {
		s.Keys, s.Value = p.found.keys, p.found.value
	}
	return s
}

// Len returns the number of steps.
func (p *Path) Len() int {
	steps := 0
	for ; p != nil; p = p.parent {
		steps++
	}
	return steps
}

// Steps returns all steps, from the object to the place.
func (p *Path) Steps() []Step {
	return p.appendSteps(nil)
}

// appendSteps appends all steps to a slice.
func (p *Path) appendSteps(steps []Step) []Step {
	from := len(steps)
	steps = slices.Grow(steps, p.Len())[:from+p.Len()]
	for i := len(steps) - 1; i >= from; i-- {
		steps[i] = p.Last()
		p = p.parent
	}
	return steps
}

// Equal reports whether two paths have equal steps.
func (p *Path) Equal(other *Path) bool {
	for p != other {
		if p == nil || other == nil || !p.Last().Equal(other.Last()) {
			return false
		}
		p, other = p.parent, other.parent
	}
	return true
}

// Equal reports whether two steps name the same value in every object. Items are
// equal if the same keys have equal values.
func (s Step) Equal(other Step) bool {
	if s.Kind != other.Kind {
		return false
	}
	switch s.Kind {
	case Name, Key:
		return s.Name == other.Name
	case Index:
		return s.Index == other.Index
	case Item:
		return s.Index == other.Index && s.namesSameKeys(other) && other.namesSameKeys(s)
	case Member:
		return Strict.Equal(s.Value, other.Value)
	}
	return true
}

// namesSameKeys reports whether other has all keys of s, with the same values.
func (s Step) namesSameKeys(other Step) bool {
	mine, _ := s.Value.(map[string]any)
	others, _ := other.Value.(map[string]any)
	for _, key := range s.Keys {
		v, present := mine[key]
		if !present {
			continue
		}
		if w, also := others[key]; !also || !Strict.Equal(v, w) {
			return false
		}
	}
	return true
}

// String returns the text of the path in the plain notation:
// spec.ports[name="http"].port.
func (p *Path) String() string { return Notation{}.Path(p) }
