package skeleton

import (
	"maps"
	"regexp"
	"slices"

	"holdfast.dev/holdfast/schema"
)

// derive folds and merges s into its skeleton.
func derive(s *schema.Schema) *node {
	if s == nil {
		s = &schema.Schema{}
	}
	b := &builder{}
	return b.place(part{s: s, direct: true, spine: true})
}

type builder struct {
	round int
	// parts is a stack: the parts of the place that is being merged lie on top,
	// those of the places around it below.
	parts []part
}

// place makes the place that only p and what logic folds into it speak about.
func (b *builder) place(p part) *node {
	bottom := len(b.parts)
	b.parts = fold(b.parts, p)
	out := b.merge(b.parts[bottom:len(b.parts):len(b.parts)])
	b.parts = b.parts[:bottom]
	return out
}

// merge makes one place of the skeleton from all parts that speak about it. It
// looks at each part once and hands each child to one place, so the whole is
// linear.
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

// types finds the type that the parts agree on, and whether it binds. It returns
// the one part outside of logic, nil for a place that only logic names.
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
		// Upstream's validator lets a null pass logic without a look, so only
		// a type that needs no logic at this place refuses one.
		n.nullFits = n.nullable || !b.binds(parts, func(p *part) bool { return p.direct && !p.s.Nullable })
	}
	return spine
}

// binds says whether every value that the schema accepts at this place is bound
// to the type that the parts agree on, looking only at parts that count.
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

// named makes the places of a keyword that maps names to schemas.
func (b *builder) named(parts []part, n *node, of func(*schema.Schema) map[string]*schema.Schema) map[string]*node {
	// Nearly everywhere one part says nearly all names, mostly the spine. What
	// the others say is collected by name, the rest needs no collecting.
	most, speakers := 0, 0
	for i, p := range parts {
		if names := len(of(p.s)); names > 0 {
			speakers++
			if names > len(of(parts[most].s)) {
				most = i
			}
		}
	}
	if speakers == 0 {
		return nil
	}
	var others map[string][]part
	if speakers > 1 {
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
			out[name] = n.note(b.place(c))
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
				// Says nothing in the schema, but once folded it could.
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

// compilePatterns sorts the patterns, so that answers do not depend on the
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

// defaulted is the names of the places with a default, sorted.
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
