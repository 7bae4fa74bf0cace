package skeleton

import (
	"math"

	"holdfast.dev/holdfast/schema"
)

// part is a node of the schema that speaks about one place of the skeleton.
type part struct {
	s *schema.Schema
	// in is the branch of anyOf or oneOf that the node stands in, at this place
	// or above; nil when the node holds for every value.
	in *branch
	// silent is true under not: the node gives structure and no type.
	silent bool
	// direct is false for a node that is folded into this very place.
	direct bool
	// spine is true outside of all logic.
	spine bool
}

// child is a part for a node that p's node holds.
func (p part) child(s *schema.Schema) part {
	return part{s: s, in: p.in, silent: p.silent, direct: true, spine: p.spine}
}

// branch is one of the branches of a choice, which is an anyOf or a oneOf.
type branch struct {
	of    *choice
	round int
}

type choice struct {
	in    *branch // the branch that the choice itself stands in
	size  int
	met   int
	round int
}

// never is a branch whose siblings cannot all be met, so nothing in it binds.
func never() *branch { return &branch{of: &choice{size: math.MaxInt}} }

// fold appends p and everything that logic folds into its place.
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

// meet notes that a branch says what is asked for in this round, and tells
// whether with it the answer holds for every value: it stands in no choice, or
// all branches of each choice around it have been met.
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
