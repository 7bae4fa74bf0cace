package skeleton

import (
	"math"

	"holdfast.dev/holdfast/schema"
)

// part is one of the schema nodes that make a node of the skeleton.
type part struct {
	s *schema.Schema
	// in is the branch of anyOf or oneOf that the schema node is in, nil if it applies
	// to every value.
	in *branch
	// silent is true below not: the schema node gives structure but no type.
	silent bool
	// direct is false if the schema node is in logic of the same skeleton node.
	direct bool
	// spine is true outside of all logic.
	spine bool
}

// child returns the part of a child of p.
func (p part) child(s *schema.Schema) part {
	return part{s: s, in: p.in, silent: p.silent, direct: true, spine: p.spine}
}

// branch is one branch of an anyOf or oneOf.
type branch struct {
	of    *choice
	round int
}

// choice is an anyOf or a oneOf.
type choice struct {
	in    *branch // the branch that the choice itself is in
	size  int
	met   int
	round int
}

// never returns a branch in which no type binds. It is the branch of a choice with so many
// branches that meet can never count all of them.
func never() *branch { return &branch{of: &choice{size: math.MaxInt}} }

// fold appends p and all parts that are in its logic.
func fold(parts []part, p part) []part {
	if p.s == nil {
		return parts
	}
	parts = append(parts, p)
	p.direct, p.spine = false, false
	for _, s := range p.s.AllOf {
		parts = fold(parts, p.with(s))
	}
	parts = foldChoice(parts, p, p.s.AnyOf)
	parts = foldChoice(parts, p, p.s.OneOf)
	if p.s.Not != nil {
		not := p.with(p.s.Not)
		not.silent = true
		parts = fold(parts, not)
	}
	return parts
}

func (p part) with(s *schema.Schema) part {
	p.s = s
	return p
}

func foldChoice(parts []part, p part, branches []*schema.Schema) []part {
	if len(branches) == 0 {
		return parts
	}
	c := &choice{in: p.in, size: len(branches)}
	for _, s := range branches {
		p.in = &branch{of: c}
		parts = fold(parts, p.with(s))
	}
	return parts
}

// meet records that a branch has the type that this round looks for. It reports whether
// the type now binds: the branch is nil, or all branches of each choice around it have
// been met in this round.
func meet(b *branch, round int) bool {
	for b != nil {
		if b.round == round {
			return false
		}
		b.round = round
		c := b.of
		if c.round != round {
			c.round, c.met = round, 0
		}
		c.met++
		if c.met < c.size {
			return false
		}
		b = c.in
	}
	return true
}
