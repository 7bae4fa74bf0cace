package skeleton

import "holdfast.dev/holdfast/schema"

// derive folds and merges s into its skeleton.
func derive(s *schema.Schema) *shape {
	if s == nil {
		s = &schema.Schema{}
	}
	b := &builder{}
	return b.merge(fold(nil, part{s: s, direct: true, spine: true}))
}

type builder struct{ round int }

// merge makes one place of the skeleton from all parts that speak about it. It
// looks at each part once and hands each child to one place, so the whole is
// linear.
func (b *builder) merge(parts []part) *shape {
	out := &shape{}
	agreed := true
	for _, p := range parts {
		if p.spine {
			out.spine = p.s
		}
		out.nullable = out.nullable || p.s.Nullable
		if p.silent || p.s.Type == "" {
			continue
		}
		agreed = agreed && (out.typ == "" || out.typ == p.s.Type)
		out.typ = p.s.Type
	}
	if !agreed {
		out.typ = ""
	}
	if out.typ != "" && !(out.spine != nil && out.spine.IntOrString) {
		out.binds = b.binds(parts, func(p part) bool { return true })
		// Upstream's validator lets a null pass logic without a look, so only
		// a type that needs no logic at this place refuses one.
		out.nullFits = out.nullable || !b.binds(parts, func(p part) bool { return p.direct && !p.s.Nullable })
	}

	out.properties = b.named(parts, func(s *schema.Schema) map[string]*schema.Schema { return s.Properties })
	out.patterns = b.named(parts, func(s *schema.Schema) map[string]*schema.Schema { return s.PatternProperties })
	b.additional(parts, out)
	b.list(parts, out)
	return out
}

// binds says whether every value that the schema accepts at this place is bound
// to the type that the parts agree on, looking only at parts that count.
func (b *builder) binds(parts []part, counts func(part) bool) bool {
	b.round++
	for _, p := range parts {
		if !p.silent && p.s.Type != "" && !p.s.IntOrString && counts(p) && meet(p.in, b.round) {
			return true
		}
	}
	return false
}

func (b *builder) named(parts []part, of func(*schema.Schema) map[string]*schema.Schema) map[string]*shape {
	if len(parts) == 1 {
		// No logic at this place, as nearly everywhere: no need to collect.
		m := of(parts[0].s)
		if len(m) == 0 {
			return nil
		}
		out := make(map[string]*shape, len(m))
		var buf [4]part
		for name, s := range m {
			out[name] = b.merge(fold(buf[:0], parts[0].child(s)))
		}
		return out
	}
	var byName map[string][]part
	for _, p := range parts {
		for name, s := range of(p.s) {
			if byName == nil {
				byName = map[string][]part{}
			}
			byName[name] = fold(byName[name], p.child(s))
		}
	}
	if byName == nil {
		return nil
	}
	out := make(map[string]*shape, len(byName))
	for name, parts := range byName {
		out[name] = b.merge(parts)
	}
	return out
}

func (b *builder) additional(parts []part, out *shape) {
	var values []part
	for _, p := range parts {
		if a := p.s.AdditionalProperties; a != nil && a.Schema != nil {
			values = fold(values, p.child(a.Schema))
		} else if a != nil && a.Allows {
			out.anyKey = true
		}
	}
	if len(values) > 0 {
		out.anyKey = false
	}
	if len(values) > 0 || out.anyKey {
		out.additional = b.merge(values)
	}
}

func (b *builder) list(parts []part, out *shape) {
	var single, rest []part
	var byPosition [][]part
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
			out.anyRest = true
		}
	}
	if len(single) > 0 {
		out.items = b.merge(single)
	}
	for _, parts := range byPosition {
		out.tuple = append(out.tuple, b.merge(parts))
	}
	if len(rest) > 0 {
		out.anyRest = false
	}
	if len(rest) > 0 || out.anyRest {
		out.rest = b.merge(rest)
	}
}
