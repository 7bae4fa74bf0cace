package skeleton

import (
	"maps"
	"regexp"
	"slices"

	"holdfast.dev/holdfast/schema"
)

// derive returns the root of the skeleton of s.
func derive(s *schema.Schema) *node {
	if s == nil {
		s = &schema.Schema{}
	}
	b := &builder{leaves: map[leaf]*node{}}
	return b.place(part{s: s, direct: true, spine: true})
}

type builder struct {
	round int
	// parts is a stack. On top are the parts of the node that is being merged, below
	// them those of the nodes around it.
	parts []part
	// leaves has one node for each kind of leaf, see shared.
	leaves map[leaf]*node
}

// place returns the node of p and of the parts that logic adds to it.
func (b *builder) place(p part) *node {
	bottom := len(b.parts)
	b.parts = fold(b.parts, p)
	out := b.merge(b.parts[bottom:len(b.parts):len(b.parts)])
	b.parts = b.parts[:bottom]
	return out
}

// merge returns one node of the skeleton, made from all its parts. It reads each part
// once and gives each child to one node, so the time is linear in the schema.
func (b *builder) merge(parts []part) *node {
	n := &node{nullFits: true}
	spine := b.types(parts, n)
	n.properties = b.named(parts, n, properties)
	n.declared = n.properties
	n.patterns = compilePatterns(b.named(parts, n, patternProperties))
	if n.within&hasDefaults != 0 {
		n.defaulted = defaulted(n.properties)
	}
	b.additional(parts, n)
	b.list(parts, n)
	if spine != nil {
		n.extend(spine)
	}
	return n
}

// types sets the type that the parts agree on, and whether it binds. It returns the
// part outside of logic, nil for a node that only logic names.
func (b *builder) types(parts []part, n *node) (spine *schema.Schema) {
	agreed := true
	for i := range parts {
		p := &parts[i]
		if p.spine {
			spine = p.s
		}
		n.nullable = n.nullable || p.s.Nullable
		if p.silent || p.s.Type == "" {
			continue
		}
		agreed = agreed && (n.typ == "" || n.typ == p.s.Type)
		n.typ = p.s.Type
	}
	n.keepNull = n.nullable
	if !agreed {
		n.typ = ""
	}
	if n.typ == "" || spine != nil && spine.IntOrString {
		return spine
	}
	if b.binds(parts, func(*part) bool { return true }) {
		n.binding = kindNamed(n.typ)
		// Upstream's validator does not apply logic to null, so only a type outside
		// of logic refuses a null.
		n.nullFits = n.nullable || !b.binds(parts, func(p *part) bool { return p.direct && !p.s.Nullable })
	}
	return spine
}

// binds reports whether every value that the schema accepts here has the type that
// the parts agree on. Only parts for which counts returns true are used.
func (b *builder) binds(parts []part, counts func(*part) bool) bool {
	b.round++
	for i := range parts {
		p := &parts[i]
		if !p.silent && p.s.Type != "" && !p.s.IntOrString && counts(p) && meet(p.in, b.round) {
			return true
		}
	}
	return false
}

func properties(s *schema.Schema) map[string]*schema.Schema        { return s.Properties }
func patternProperties(s *schema.Schema) map[string]*schema.Schema { return s.PatternProperties }

// named returns the nodes of a keyword that maps names to schemas.
func (b *builder) named(parts []part, n *node, of func(*schema.Schema) map[string]*schema.Schema) map[string]*node {
	// Usually one part has nearly all names, mostly the one outside of logic. Only
	// the names of the other parts are collected in a map.
	most, withNames := 0, 0
	for i, p := range parts {
		if names := len(of(p.s)); names > 0 {
			withNames++
			if names > len(of(parts[most].s)) {
				most = i
			}
		}
	}
	if withNames == 0 {
		return nil
	}
	var others map[string][]part
	if withNames > 1 {
		others = map[string][]part{}
		for i, p := range parts {
			if i == most {
				continue
			}
			for name, s := range of(p.s) {
				others[name] = fold(others[name], p.child(s))
			}
		}
	}
	main := of(parts[most].s)
	out := make(map[string]*node, len(main)+len(others))
	for name, s := range main {
		c := parts[most].child(s)
		if also := others[name]; also != nil {
			out[name] = n.note(b.merge(fold(also, c)))
		} else {
			out[name] = b.shared(n.note(b.place(c)))
		}
	}
	for name, parts := range others {
		if out[name] == nil {
			out[name] = n.note(b.merge(parts))
		}
	}
	return out
}

func (b *builder) additional(parts []part, n *node) {
	var values []part
	anyKey := false
	for _, p := range parts {
		if a := p.s.AdditionalProperties; a != nil && a.Schema != nil {
			values = fold(values, p.child(a.Schema))
		} else if a != nil && a.Allows {
			anyKey = true
		}
	}
	if len(values) > 0 || anyKey {
		n.additional = n.note(b.merge(values))
		n.additional.asTrue = len(values) == 0
	}
}

func (b *builder) list(parts []part, n *node) {
	var single, rest []part
	var byPosition [][]part
	anyRest := false
	for _, p := range parts {
		if p.s.Items != nil {
			single = fold(single, p.child(p.s.Items))
		}
		for i, s := range p.s.Tuple {
			if i == len(byPosition) {
				byPosition = append(byPosition, nil)
			}
			byPosition[i] = fold(byPosition[i], p.child(s))
		}
		if a := p.s.AdditionalItems; a != nil && a.Schema != nil {
			c := p.child(a.Schema)
			if len(p.s.Tuple) == 0 {
				// Without items by position, additionalItems has no effect, so its
				// type must not bind.
				c.in = never()
			}
			rest = fold(rest, c)
		} else if a != nil && a.Allows {
			anyRest = true
		}
	}
	if len(single) > 0 {
		n.items = n.note(b.merge(single))
	}
	for _, parts := range byPosition {
		n.tuple = append(n.tuple, n.note(b.merge(parts)))
	}
	if len(rest) > 0 || anyRest {
		n.beyond = n.note(b.merge(rest))
		n.beyond.asTrue = len(rest) == 0
	}
	switch {
	case n.items != nil && len(n.tuple) > 0:
		n.rest = leaveAlone
	case n.items != nil:
		n.rest = n.items
	case len(n.tuple) > 0:
		n.positions, n.rest = n.tuple, n.beyond
	}
}

// compilePatterns compiles the patterns, sorted, so that results do not depend on the
// order of a map.
func compilePatterns(places map[string]*node) []pattern {
	if len(places) == 0 {
		return nil
	}
	out := make([]pattern, 0, len(places))
	for _, source := range slices.Sorted(maps.Keys(places)) {
		matches, err := regexp.Compile(source)
		if err != nil {
			matches = nil
		}
		out = append(out, pattern{source, matches, places[source]})
	}
	return out
}

// defaulted returns the names of the nodes with a default, sorted.
func defaulted(places map[string]*node) []string {
	var names []string
	for name, c := range places {
		if c.fallback != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
